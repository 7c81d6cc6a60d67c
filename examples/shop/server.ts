import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { type IncomingMessage, createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';

const { PORT = 4000, TILLWAY_URL = 'http://127.0.0.1:3000', WEBHOOK_SECRET, FILE = 'events.log' } = process.env;
const SHOP_URL = `http://127.0.0.1:${PORT}`;
if (!WEBHOOK_SECRET) throw new Error('Set WEBHOOK_SECRET to the secret that Tillway signs with.');

// Ids of processed events, from the stored payloads. With a database, store payload and effects in one transaction.
const stored = existsSync(FILE) ? readFileSync(FILE, 'utf8').split('\n').filter(Boolean) : [];
const processed = new Set(stored.map((line) => JSON.parse(line).id));

async function answer({ method, url = '/', headers }: IncomingMessage, body: Buffer): Promise<Response> {
  const { pathname, searchParams } = new URL(url, SHOP_URL);
  switch (`${method} ${pathname}`) {
    case 'GET /': // The page contains the order's id, so that two clicks create one order.
      return page(`Field guide, $49.99 <form method="post" action="/buy"><button>Buy</button>
        <input type="hidden" name="order" value="${randomUUID()}"></form>`);
    case 'POST /buy': {
      const orderId = new URLSearchParams(body.toString()).get('order');
      const sale = { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com', metadata: { orderId } };
      const json = JSON.stringify({ ...sale, redirectUrl: `${SHOP_URL}/thanks`, idempotencyKey: `order-${orderId}` });
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: json };
      const { checkoutUrl } = await gateway('sessions', init);
      return checkoutUrl ? Response.redirect(checkoutUrl, 303) : page('The checkout is not available now.', 502);
    }
    case 'GET /thanks': {
      const { status } = await gateway(`payments/${encodeURIComponent(searchParams.get('session_id') ?? '')}`);
      return page(status === 'paid' ? 'Thank you, the order is paid.' : 'The order is not paid yet.');
    }
    case 'POST /webhooks': {
      if (!isGenuine(body, String(headers['x-gateway-signature']))) return page('wrong signature', 400);
      const { id, type, data } = JSON.parse(body.toString());
      if (processed.has(id)) return page('already processed');
      if (type === 'payment.paid') process.stdout.write(`Fulfil order ${data.metadata.orderId}\n`);
      appendFileSync(FILE, `${body.toString()}\n`);
      processed.add(id);
      return page('stored');
    }
  }
  return page('This page does not exist.', 404);
}

const page = (html: string, status = 200) => new Response(html, { status, headers: { 'content-type': 'text/html' } });
const gateway = async (path: string, init?: RequestInit) =>
  (await (await fetch(`${TILLWAY_URL}/api/gateway/${path}`, init)).json()) as Record<string, string>;
const isGenuine = (body: Buffer, signature: string): boolean => {
  const [, time = '', rest = ''] = /^t=(\d+),(.*)$/.exec(signature) ?? [];
  if (Math.abs(Date.now() / 1000 - Number(time)) > 300) return false;
  const expected = createHmac('sha256', WEBHOOK_SECRET).update(`${time}.`).update(body).digest();
  const received = rest.split(',').map((part) => Buffer.from(part.replace('v1=', ''), 'hex'));
  return received.some((each) => each.length === expected.length && timingSafeEqual(each, expected));
};

createServer((request, response) => {
  const reply = buffer(request).then((body) => answer(request, body));
  const answered = reply.catch(() => page('Something failed.', 500));
  void answered.then(async (it) => response.writeHead(it.status, Object.fromEntries(it.headers)).end(await it.text()));
}).listen(Number(PORT), '127.0.0.1', () => process.stdout.write(`The shop is open: ${SHOP_URL}\n`));
