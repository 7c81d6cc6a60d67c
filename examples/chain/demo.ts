/**
 * Tillway with USDC on a local chain: no account, no network, no real money. Prints a checkout and the QR code of its address;
 * `pay.ts` pays it. Enter prints another checkout. Webhooks that arrive are printed too.
 */
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { renderUnicodeCompact } from 'uqr';
import { Tillway } from '../../sdk/src/index.ts';
import { giveUp, say, startTemporaryService } from '../temporary-service.ts';
import { DEMO_CHAIN_URL, DEMO_XPUB, startLocalChain } from './local-chain.ts';

/** Blocks by which finality is behind: a small payment counts after 12 blocks, well before. */
const FINALITY_BLOCKS = 30;
const SECONDS_PER_BLOCK = 1;
const { PORT = '3000' } = process.env;

const merchant = createServer((request, response) => void printWebhook(request, response));
merchant.listen(0, '127.0.0.1');
await once(merchant, 'listening');
const { port: merchantPort } = merchant.address() as { port: number };

await using chain = await startLocalChain({
  port: Number(new URL(DEMO_CHAIN_URL).port),
  mining: SECONDS_PER_BLOCK,
  finalityBlocks: FINALITY_BLOCKS,
});
await using service = await startTemporaryService({
  PORT,
  USDC_CHAIN: 'local',
  USDC_XPUB: DEMO_XPUB,
  USDC_RPC_URLS: chain.url,
  USDC_TOKEN: chain.token,
  // `pay.ts --late` moves the time of the service beyond the time-out of a payment.
  TEST_CLOCK: 'true',
  WEBHOOK_URL: `http://127.0.0.1:${merchantPort}`,
  WEBHOOK_SECRET: `whsec_${randomBytes(32).toString('base64')}`,
}).catch(async ({ message }: Error) => {
  await chain[Symbol.asyncDispose]();
  return giveUp(`${message}. Stop that program, or set another port: PORT=3100 npm run demo:chain`);
});
const tillway = new Tillway({ baseUrl: service.url });
say(
  `Tillway is at ${service.url}, and a local chain at ${chain.url}: a block each second, final after ${FINALITY_BLOCKS}.`,
);

await printCheckout();
const enter = createInterface({ input: process.stdin }).on('line', () => void printCheckout());
await Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal)));
enter.close();
merchant.close();

async function printWebhook(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { type, data } = (await json(request)) as { type: string; data: { session_id: string } };
  say(`Webhook: ${type} of ${data.session_id}`);
  response.end();
}

async function printCheckout(): Promise<void> {
  const { checkoutUrl } = await tillway.sessions.create({
    product: 'Field guide',
    amount: 19.99,
    customer: 'buyer@example.com',
    preferredRoute: 'wallet',
  });
  const form = new URLSearchParams({ kind: 'wallet', total_wallet: '1999' });
  const answer = await fetch(`${checkoutUrl}/pay`, {
    method: 'POST',
    body: form,
    headers: { accept: 'application/json' },
  });
  const { transfer } = (await answer.json()) as { transfer: { address: string } };
  say(`
Checkout  ${checkoutUrl}
Address   ${transfer.address}, for 19.99 USDC
${renderUnicodeCompact(transfer.address)}
Open the checkout in a browser, and pay it in another terminal:

  npm run pay:chain -- ${checkoutUrl}

  --part 5   pays only 5.00; the same command without it pays the rest
  --over 1   pays 1.00 too much
  --late     pays after the payment has timed out
  --reorg    pays, and the chain drops the transfer before it counts
  --fast     pays, and the chain makes 12 blocks at once

Press Enter for another checkout, Ctrl-C to stop.`);
}
