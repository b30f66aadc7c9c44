# SPDX-License-Identifier: Apache-2.0
"""A server under load: Flask where there is one, else the standard library's WSGI. Its client is a
process of its own.
"""
import http.client
import os
import sys
import wsgiref.simple_server

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import target


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


def plain(environment, start_response):
    numbers = sorted(range(2000), key=lambda number: -number)
    body = ",".join("%d=%s" % (i, number) for i, number in enumerate(numbers)).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


def application():
    try:
        import flask
    except ImportError:
        return plain
    made = flask.Flask(__name__)
    # Kept, as those of files are.
    template = made.jinja_env.from_string(
        "{% for i in numbers %}<p>{{ i }}: {{ i * i }}</p>{% endfor %}")

    @made.route("/")
    def page():
        return flask.render_template(template, numbers=range(200))
    return made


def ask(port):
    os.nice(1)
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/")
        connection.getresponse().read()
        connection.close()


server = wsgiref.simple_server.make_server("127.0.0.1", 0, application(), handler_class=Quiet)
if os.fork() == 0:
    # Else its own end of the socket would answer when the server is gone.
    server.socket.close()
    try:
        ask(server.server_port)
    except Exception:
        os._exit(0)
target.ready()
server.serve_forever()
