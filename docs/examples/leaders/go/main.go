// A service whose leader counts in /my/data/count: counter HOST:PORT ID SESSION_TIMEOUT_MS [fenced]
//
// Whoever makes the ephemeral znode /my/leader leads. Without `fenced` a leader takes whatever goes wrong for a hiccup of
// the network, and goes on in the session that the client gets next. With `fenced` ZooKeeper refuses it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	leader = "/my/leader"
	epoch  = "/my/epoch"
	count  = "/my/data/count"
	pause  = 20 * time.Millisecond
)

var anybody = zk.WorldACL(zk.PermAll)

func say(line map[string]any) {
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func main() {
	timeout, err := strconv.Atoi(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	conn, _, err := zk.Connect([]string{os.Args[1]}, time.Duration(timeout)*time.Millisecond)
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range []string{"/my", "/my/data", epoch} {
		makeSure(conn, path)
	}
	fenced := len(os.Args) > 4
	for {
		if term, won := stand(conn, os.Args[2]); won && fenced {
			leadFenced(conn, term)
		} else if won {
			lead(conn)
		}
	}
}

// makeSure that the znode is there.
func makeSure(conn *zk.Conn, path string) {
	for {
		_, err := conn.Create(path, []byte("0"), 0, anybody)
		if err == nil || errors.Is(err, zk.ErrNodeExists) {
			return
		}
		time.Sleep(pause)
	}
}

// stand tries to win, or waits until whoever has won is gone. term is the version of /my/epoch, which each election raises
// in the transaction that wins it.
func stand(conn *zk.Conn, node string) (term int32, won bool) {
	there, stat, gone, err := conn.ExistsW(leader)
	if err == nil && there && stat.EphemeralOwner == conn.SessionID() { // the answer to the request that won was lost
		_, now, err := conn.Get(epoch)
		if err != nil {
			return 0, false
		}
		return now.Version, true
	}
	if err == nil && there {
		<-gone
		return 0, false
	}
	_, before, err := conn.Get(epoch)
	if err != nil {
		time.Sleep(pause)
		return 0, false
	}
	_, err = conn.Multi(
		&zk.CreateRequest{Path: leader, Data: []byte(node), Acl: anybody, Flags: zk.FlagEphemeral},
		&zk.SetDataRequest{Path: epoch, Data: []byte(node), Version: before.Version},
	)
	return before.Version + 1, err == nil
}

// more is what is there and one more.
func more(conn *zk.Conn) ([]byte, error) {
	data, _, err := conn.Get(count)
	if err != nil {
		return nil, err
	}
	value, err := strconv.Atoi(string(data))
	return []byte(strconv.Itoa(value + 1)), err
}

// lead goes on until the process ends.
func lead(conn *zk.Conn) {
	say(map[string]any{"leads": leader})
	makeSure(conn, count)
	for ; ; time.Sleep(pause) {
		value, err := more(conn)
		if err == nil {
			_, err = conn.Set(count, value, -1)
		}
		if err != nil {
			log.Print("tries again: ", err)
		}
	}
}

// leadFenced goes on until somebody else may lead: /my/leader is there, and nobody was elected since. ZooKeeper checks both
// and writes in one transaction.
func leadFenced(conn *zk.Conn, term int32) {
	say(map[string]any{"leads": leader, "epoch": term})
	makeSure(conn, count)
	for ; ; time.Sleep(pause) {
		value, err := more(conn)
		if err == nil {
			_, err = conn.Multi(
				&zk.CheckVersionRequest{Path: epoch, Version: term},
				&zk.CheckVersionRequest{Path: leader, Version: 0},
				&zk.SetDataRequest{Path: count, Data: value, Version: -1},
			)
		}
		if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) {
			say(map[string]any{"follows": leader})
			return
		}
	}
}
