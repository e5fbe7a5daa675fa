// The connection to the gateway: opens it, opens it again when it breaks, and asks whether it is still alive.

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
const PING_EVERY = 20_000;
const PONG_WITHIN = 10_000;
// Closed with one of these, trying again would only fail again.
const FINAL = new Set([4400, 4401, 4403, 4404]);

export class Connection {
  /** `hello` makes the first frame; `on` has `frame`, `state` and `refused`. */
  constructor(hello, on) {
    this.hello = hello;
    this.on = on;
    this.wait = FIRST_WAIT;
    this.socket = null;
    this.timers = new Set();
    this.problem = null;
    this.stopped = false;
    this.wake = () => this.retryNow();
    // A server on this machine answers all the same.
    this.sleep = () => this.ping();
    this.look = () => document.visibilityState === "visible" && this.ready && this.ping();
    addEventListener("online", this.wake);
    addEventListener("offline", this.sleep);
    document.addEventListener("visibilitychange", this.look);
    this.open();
  }

  get ready() {
    return this.socket?.greeted === true && this.socket.readyState === WebSocket.OPEN;
  }

  /** Send a frame; false if there is no connection. */
  send(frame) {
    if (!this.ready) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  stop() {
    this.stopped = true;
    removeEventListener("online", this.wake);
    removeEventListener("offline", this.sleep);
    document.removeEventListener("visibilitychange", this.look);
    this.clearTimers();
    this.drop();
  }

  open() {
    this.clearTimers();
    this.drop();
    this.problem = null;
    this.on.state("connecting");
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/v1/chat/ws`);
    this.socket = socket;
    socket.onopen = () => socket.send(JSON.stringify(this.hello()));
    socket.onmessage = (event) => this.take(socket, event.data);
    socket.onclose = (event) => this.closed(socket, event);
    this.later(PONG_WITHIN * 2, () => !socket.greeted && this.lost());
  }

  take(socket, data) {
    if (socket !== this.socket) return;
    const frame = JSON.parse(data);
    socket.heard = true;
    if (frame.type === "ready") {
      socket.greeted = true;
      this.wait = FIRST_WAIT;
      this.on.state("connected");
      this.beat();
    }
    if (frame.type === "problem" && !socket.greeted) this.problem = frame.problem;
    if (frame.type !== "pong") this.on.frame(frame);
  }

  closed(socket, event) {
    if (socket !== this.socket || this.stopped) return;
    this.socket = null;
    if (FINAL.has(event.code)) {
      this.stop();
      this.on.refused(event.code, this.problem);
    } else {
      this.again();
    }
  }

  lost() {
    this.drop();
    this.again();
  }

  again() {
    this.clearTimers();
    this.on.state(navigator.onLine ? "waiting" : "offline");
    // All clients of a server that has started again must not come at the same moment.
    this.later(this.wait * (0.5 + Math.random() / 2), () => this.open());
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
  }

  retryNow() {
    if (!this.ready && !this.stopped) {
      this.wait = FIRST_WAIT;
      this.open();
    } else {
      this.ping();
    }
  }

  beat() {
    this.later(PING_EVERY, () => {
      this.ping();
      this.beat();
    });
  }

  ping() {
    const socket = this.socket;
    if (!this.send({ type: "ping" })) return;
    socket.heard = false;
    this.later(PONG_WITHIN, () => socket === this.socket && !socket.heard && this.lost());
  }

  drop() {
    const socket = this.socket;
    this.socket = null;
    if (socket) socket.close();
  }

  later(milliseconds, run) {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      run();
    }, milliseconds);
    this.timers.add(timer);
  }

  clearTimers() {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
  }
}
