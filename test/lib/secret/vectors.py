"""Makes vectors.json: stored password hashes as other programs make them, each with the command that made it.

    python3 test/lib/secret/vectors.py > test/lib/secret/vectors.json

Needs python3 (hashlib; crypt up to 3.12), perl and openssl; the test itself needs none of them.
"""
import base64
import hashlib
import json
import subprocess
import sys
import warnings

warnings.simplefilter("ignore")
import crypt  # noqa: E402

vectors = []
plain = b"correct horse"
eight_bit = bytes([0xe9, 0xff, 0x80, 0x01]) + "pässwörd→".encode()
long255 = bytes((i * 7 + 1) % 255 + 1 for i in range(255))
ascii255 = ("0123456789abcdef" * 16)[:255].encode()


def add(kind, made, password, stored):
    assert stored and not stored.startswith("*"), (kind, made, stored)
    vectors.append({"kind": kind, "made": made, "password": password.hex(), "stored": stored})


def perl(kind, password, setting):
    program = "print crypt(pack('H*', $ARGV[0]), $ARGV[1])"
    out = subprocess.run(["perl", "-e", program, password.hex(), setting], capture_output=True, check=True)
    add(kind, f"perl -e \"{program}\" {password.hex()[:16]}... '{setting}'", password, out.stdout.decode())


def openssl(kind, password, *options):
    out = subprocess.run(["openssl", "passwd", *options, "-stdin"], input=password + b"\n", capture_output=True, check=True)
    add(kind, f"openssl passwd {' '.join(options)} -stdin", password, out.stdout.decode().strip())


def python(kind, password, setting):
    text = password.decode()
    add(kind, f"python3 -c \"crypt.crypt(password, '{setting}')\"", password, crypt.crypt(text, setting))


def pbkdf2(digest, password, salt, rounds, extra=""):
    key = hashlib.pbkdf2_hmac(digest, password, salt, rounds)
    text = lambda data: base64.b64encode(data).decode().rstrip("=")
    stored = f"$pbkdf2-{digest}$i={rounds}{extra}${text(salt)}${text(key)}"
    add(f"pbkdf2-{digest}", f"python3 -c \"hashlib.pbkdf2_hmac('{digest}', password, salt, {rounds})\"", password, stored)


for word in (plain, eight_bit, long255):
    for digest in ("sha1", "sha256", "sha512"):
        pbkdf2(digest, word, b"\x00salt of sixteen", 1000)
pbkdf2("sha256", plain, b"sixteen bytes ok", 100000)
pbkdf2("sha256", plain, b"sixteen bytes ok", 2000, ",l=32")

for word in (plain, eight_bit, long255, b"a", b"x" * 15, b"x" * 16, b"x" * 17, b"y" * 31, b"y" * 32, b"y" * 33, b"z" * 64, b"z" * 65):
    for scheme, setting in (("sha512-crypt", "$6$saltsalt"), ("sha256-crypt", "$5$saltsalt")):
        perl(scheme, word, setting)
    perl("md5-crypt", word, "$1$saltsalt")
    perl("des-crypt", word, "ab")
for setting in ("$6$rounds=1000$roundstoolow", "$6$rounds=1400$anotherlongsalts", "$6$rounds=10000$short", "$6$$"):
    perl("sha512-crypt", plain, setting)
    perl("sha256-crypt", eight_bit, setting.replace("$6$", "$5$"))
for setting in ("./", "zz", "Z9", "..", "aB"):
    perl("des-crypt", plain, setting)
for setting in ("$1$a", "$1$12345678", "$1$$"):
    perl("md5-crypt", eight_bit, setting)
perl("des-crypt", b"eightchr", "pq")
perl("des-crypt", b"eightchr and ignored", "pq")

openssl("sha512-crypt", plain, "-6", "-salt", "0123456789abcdef")
openssl("sha256-crypt", plain, "-5", "-salt", "0123456789abcdef")
openssl("md5-crypt", plain, "-1", "-salt", "01234567")
openssl("sha512-crypt", ascii255, "-6", "-salt", "xyz")
openssl("md5-crypt", ascii255, "-1", "-salt", "xyz")
python("sha512-crypt", "пароль".encode(), "$6$rounds=1234$saltstring")
python("sha256-crypt", "пароль".encode(), "$5$rounds=1234$saltstring")
python("des-crypt", "пароль".encode(), "Q1")

for prefix in ("$2b$", "$2a$", "$2y$"):
    for word in (plain, "pässwörd→".encode(), ascii255, b"k" * 72, b"k" * 73):
        perl("bcrypt", word, prefix + "04$abcdefghijklmnopqrstuu")

# Argon2 of the reference implementation (its README and test programme): no tool here makes them.
argon2 = "test.c and README of the reference implementation of Argon2"
add("argon2i", argon2, b"password", "$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA")
add("argon2i", argon2, b"password", "$argon2i$v=19$m=65536,t=2,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b+dWRWJTmaaJObG")
add("argon2id", argon2, b"password", "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc")

json.dump(vectors, sys.stdout, indent=1)
print()
