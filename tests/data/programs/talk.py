"""A service whose nodes talk to each other: each asks all others, again and again, and says whom it has lost. Nodes
from 3 on stay connected with node 1 besides, at the address that it has written to ZooKeeper."""

import json
import socket
import sys
import threading
import time

from kazoo.client import KazooClient

PATIENCE_S = 0.5
STAY = b"stay\n"
staying = []
"""Connections that are not closed."""


def serve(server: socket.socket) -> None:
    while True:
        threading.Thread(target=answer, args=[server.accept()[0]], daemon=True).start()


def answer(connection: socket.socket) -> None:
    try:
        said = connection.makefile("rb").readline()
        connection.sendall(said)
    except OSError:
        said = b""
    if said == STAY:
        staying.append(connection)
    else:
        connection.close()


def answers(address: str, me: str) -> bool:
    host, port = address.split(":")
    word = f"{me} asks\n".encode()
    try:
        with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
            connection.sendall(word)
            return connection.makefile("rb").readline() == word
    except OSError:
        return False


def stay_connected(address: str) -> None:
    host, port = address.split(":")
    staying.append(socket.create_connection((host, int(port))))
    staying[-1].sendall(STAY)
    staying[-1].recv(100)


def main(zookeeper: str, me: str, peers: str, first: str) -> None:
    addresses = {name: address for name, _, address in (each.partition("=") for each in peers.split(","))}
    print(json.dumps({"peers": addresses, "first": first}), flush=True)
    host, _, port = addresses.pop(me).rpartition(":")
    threading.Thread(target=serve, args=[socket.create_server((host, int(port)))], daemon=True).start()
    client = KazooClient(zookeeper)
    client.start(timeout=30)
    if me == "1":
        client.create("/talk", f"{host}:{port}".encode())
    if int(me) >= 3:
        stay_connected(client.get("/talk")[0].decode())
    lost = set(addresses)
    while True:
        for name, address in addresses.items():
            if answers(address, me) != (name not in lost):
                lost ^= {name}
                print(json.dumps({"lost" if name in lost else "hears": int(name)}), flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main(*sys.argv[1:])
