# Hands one message to a server over SMTP and prints what it was answered: `code text`. Arguments: JSON.
import json, smtplib, ssl, sys

a = json.loads(sys.argv[1])
kind = smtplib.SMTP_SSL if a.get("password") else smtplib.SMTP
extra = {"context": ssl.create_default_context(cafile=a["trusted"])} if a.get("password") else {}
s = kind(a["host"], a.get("port", 25), a.get("helo"), timeout=60, **extra)
s.ehlo()
if a.get("password"):
    s.login(a["from"], a["password"])
try:
    s.sendmail(a["from"], [a["to"]], a["message"].encode(), mail_options=a.get("options", []))
    print("250 taken")
except smtplib.SMTPRecipientsRefused as e:
    print(*[f"{c} {t.decode()}" for c, t in e.recipients.values()])
except smtplib.SMTPResponseException as e:
    print(e.smtp_code, e.smtp_error.decode())
