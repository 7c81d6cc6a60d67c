import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How many requests a connection may have been sent that are not answered; with one more it is closed, as it stands. */
export const MAX_UNANSWERED = 64;

/** The requests of each connection, carried out one after the other. */
export interface Turns {
  /** Takes a request, which is handled once all before it on its connection are answered. */
  take(request: IncomingMessage, response: ServerResponse, handle: RequestListener): void;
  /** Whether a request of the connection is under way. */
  isBusy(socket: Socket): boolean;
  /**
   * Takes nothing more from a connection. True where answers are still owed: they go out, the last with
   * `connection: close`, and then it is closed. False where none is: what the socket is sent next is the caller's.
   */
  stop(socket: Socket): boolean;
}

interface Turn {
  request: IncomingMessage;
  response: ServerResponse;
  begin(): void;
}

interface Line {
  /** The first is under way. */
  turns: Turn[];
  /** `ending`: until what is owed has gone out. */
  state: 'open' | 'ending' | 'over';
}

/** An answer that lies unread for `answerTimeoutMs` times out; while `isClosing`, no connection outlives its answers. */
export function takeTurns(answerTimeoutMs: number, isClosing: () => boolean): Turns {
  const lines = new WeakMap<Socket, Line>();

  function lineOf(socket: Socket): Line {
    const known = lines.get(socket);
    if (known) return known;
    const line: Line = { turns: [], state: 'open' };
    lines.set(socket, line);
    // Node reads on when a part of an answer has gone out; what is sent meanwhile shall wait with the caller.
    socket.on('resume', () => {
      if (line.state === 'ending' || (line.state === 'open' && line.turns.length > 1)) socket.pause();
    });
    return line;
  }

  function begin(socket: Socket, line: Line, { request, response }: Turn, handle: RequestListener): void {
    socket.setTimeout(answerTimeoutMs);
    response.once('close', () => {
      line.turns.shift();
      // Some answers end their connection: what was sent behind is not carried out.
      if (!socket.writable) line.turns = [];
      if (line.state === 'open' && line.turns.length < 2 && socket.isPaused()) socket.resume();
      if (line.turns.length > 0) line.turns[0]!.begin();
      // At a stop Node closes the connections that are idle then; this one was not, and would stay for its keep-alive time.
      else if (line.state === 'ending' || isClosing()) socket.destroySoon();
    });
    handle(request, response);
  }

  function abandon(socket: Socket, line: Line): void {
    line.state = 'over';
    line.turns = [];
    socket.destroy();
  }

  return {
    take(request, response, handle) {
      const { socket } = request;
      const line = lineOf(socket);
      if (line.state !== 'open') return;
      const turn: Turn = {
        request,
        response,
        // Not on behalf of the request before.
        begin: AsyncResource.bind(() => begin(socket, line, turn, handle)),
      };
      line.turns.push(turn);
      if (line.turns.length === 1) turn.begin();
      else if (line.turns.length <= MAX_UNANSWERED) socket.pause();
      // Node holds what it has read until the connection ends; to answer first would keep thousands waiting in memory.
      else abandon(socket, line);
    },
    isBusy: (socket) => lineOf(socket).turns.length > 0,
    stop(socket) {
      const line = lineOf(socket);
      if (line.state !== 'open') return line.state === 'ending';
      line.turns = line.turns.filter(isOwed);
      const last = line.turns.at(-1)?.response;
      if (!last) {
        line.state = 'over';
        ignoreInput(socket);
        return false;
      }
      line.state = 'ending';
      if (!last.headersSent) last.setHeader('connection', 'close');
      socket.pause();
      return true;
    },
  };
}

/** Whoever is to get a body does nothing before it is there; only the last request of a connection can be without its own. */
function isOwed({ request, response }: Turn): boolean {
  return request.complete || response.headersSent || request.method === 'GET' || request.method === 'HEAD';
}

/** Reads on, for bytes that nobody has read would reset the connection; no request comes of them. */
function ignoreInput(socket: Socket): void {
  const ignore = () => {};
  // Takes the reading from Node's parser, which else has it without events.
  socket.on('data', ignore);
  socket.removeAllListeners('data');
  socket.on('data', ignore);
  socket.resume();
}
