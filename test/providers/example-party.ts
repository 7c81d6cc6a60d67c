import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { signCallback } from '../../src/webhooks/sign.ts';
import { startServer } from '../support/http-server.ts';

interface Found {
  id: string;
  status: string;
  cents: number;
}
type Reply = [status: number, body: object];
const UNKNOWN: Reply = [404, { error: 'unknown' }];

/** Starts the server of the example provider, and builds its callbacks, which the test delivers. `now` is in milliseconds. */
export async function startExampleParty(now: () => number) {
  const orders = new Map<string, Found>();
  const refunds = new Map<string, Found & { order: string }>();
  const webhookSecret = `secret_${randomBytes(12).toString('hex')}`;
  const party = {
    key: `key_${randomBytes(12).toString('hex')}`,
    webhookSecret,
    orders,
    refunds,
    /** Ids of the captured orders, one for each capture. */
    captures: [] as string[],
    /** Builds the body and headers of a callback about an order. */
    callbackOf(order: string, secret = webhookSecret) {
      const body = JSON.stringify({ event: `ev_${randomBytes(6).toString('hex')}`, order });
      return { body, headers: { 'example-signature': signCallback(secret, Math.floor(now() / 1000), body) } };
    },
  };

  async function answer({ headers, url = '', method }: IncomingMessage, sent: Record<string, unknown>): Promise<Reply> {
    if (headers.authorization !== `Bearer ${party.key}`) return [401, { error: 'unauthorized' }];
    const [, resource, id, act] = url.split('/');
    if (resource === 'account') return [200, {}];
    if (resource === 'refunds') return method === 'POST' ? refund(sent) : one(refunds.get(id!));
    const cents = Number(sent['cents']);
    if (id === undefined) return one(added(orders, { id: String(sent['order']), status: 'open', cents }));
    const order = orders.get(id);
    if (act === 'cancel' && order && order.status !== 'captured') order.status = 'cancelled';
    if (act === 'capture' && order?.status === 'approved') {
      order.status = 'captured';
      party.captures.push(id);
    }
    return one(order);
  }

  function refund(sent: Record<string, unknown>): Reply {
    const order = String(sent['order']);
    const paid = orders.get(order);
    if (!paid) return UNKNOWN;
    const status = paid.status === 'captured' ? 'succeeded' : 'failed';
    return one(added(refunds, { id: String(sent['refund']), order, status, cents: Number(sent['cents']) }));
  }

  const server = await startServer(async (request, response) => {
    const sent = request.method === 'POST' ? ((await json(request)) as Record<string, unknown>) : {};
    const [status, body] = await answer(request, sent);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  return Object.assign(party, server);
}

/** Adds an item if its id is new; returns the item that is stored under this id. */
function added<Item extends Found>(all: Map<string, Item>, item: Item): Item {
  if (!all.has(item.id)) all.set(item.id, item);
  return all.get(item.id)!;
}

function one(object: object | undefined): Reply {
  return object ? [200, object] : UNKNOWN;
}
