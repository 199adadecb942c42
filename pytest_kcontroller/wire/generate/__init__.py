"""From schema files to typed message classes with their layouts: `make generated`.

schema      the files as values
source      fields as Python source
layout      encoders and decoders
modules     whole modules

What they make is `wire/messages/`, which is not edited by hand; a test holds it to the schemas. Whoever works on the
compiler writes them with `python -m pytest_kcontroller.wire.generate`, which needs no message that works.
"""
