import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { LINGER_MS, closeGently, ignoreInput } from './linger.ts';

/** How many requests a connection may have been sent that are not answered; with one more it is closed, as it stands. */
export const MAX_UNANSWERED = 64;

/** Where connections are closed anyway, what a caller may have sent before it could know has so long to arrive. */
const LAST_REQUEST_MS = 250;

/** The requests of each connection, carried out one after the other. */
export interface Turns {
  /** Takes a request, which is handled once all before it on its connection are answered. */
  take(request: IncomingMessage, response: ServerResponse, handle: RequestListener): void;
  /** Whether a request of the connection is under way. */
  isBusy(socket: Socket): boolean;
  /** Whether a connection has been sent nothing behind the request that is under way. */
  isLast(socket: Socket): boolean;
  /** Fulfilled once all that are under way now are answered, read or not, or given up. */
  settled(): Promise<void>;
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

/** An answer that lies unread for `answerTimeoutMs` times out; while `isClosing`, no connection outlives its answers for long. */
export function takeTurns(answerTimeoutMs: number, isClosing: () => boolean): Turns {
  const lines = new WeakMap<Socket, Line>();
  const underWay = new Set<ServerResponse>();

  function lineOf(socket: Socket): Line {
    const known = lines.get(socket);
    if (known) return known;
    const line: Line = { turns: [], state: 'open' };
    lines.set(socket, line);
    // Node reads on when a part of an answer has gone out; what is sent meanwhile shall wait with the caller.
    socket.on('resume', () => {
      if (line.state === 'ending' || (line.state === 'open' && line.turns.length > 1)) socket.pause();
    });
    // Node ends a connection by this after its last answer, which is lost to a caller whose bytes are then unread.
    socket.destroySoon = () => {
      const isUnread = line.state === 'ending' || line.turns.length > 1 || line.turns[0]?.request.complete === false;
      if (!isUnread) return Socket.prototype.destroySoon.call(socket);
      line.state = 'over';
      closeGently(socket);
    };
    return line;
  }

  function begin(socket: Socket, line: Line, { request, response }: Turn, handle: RequestListener): void {
    socket.setTimeout(answerTimeoutMs);
    underWay.add(response);
    response.once('close', () => {
      underWay.delete(response);
      line.turns.shift();
      // Some answers end their connection: what was sent behind is not carried out.
      if (!socket.writable) line.turns = [];
      if (line.state === 'open' && line.turns.length < 2 && socket.isPaused()) socket.resume();
      if (line.turns.length > 0) line.turns[0]!.begin();
      else if (line.state === 'ending') socket.destroySoon();
      // At a stop Node closes the connections that are idle then; this one was not, and would stay for its keep-alive time.
      else if (isClosing()) socket.setTimeout(LAST_REQUEST_MS);
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
    isLast: (socket) => lineOf(socket).turns.length === 1,
    async settled() {
      await Promise.all(Array.from(underWay, over));
    },
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

/** Until an answer is read, or has been given for a while: who does not read does not hold up others. */
function over(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const patience = () => setTimeout(resolve, LINGER_MS).unref();
    if (response.writableEnded) patience();
    else response.once('prefinish', patience);
    response.once('close', resolve);
  });
}

/** Whoever is to get a body does nothing before it is there; only the last request of a connection can be without its own. */
function isOwed({ request, response }: Turn): boolean {
  return request.complete || response.headersSent || request.method === 'GET' || request.method === 'HEAD';
}
