import { type Command, Option } from 'commander';
import type { CheckoutSession, Payment, Tillway, WebhookEvent } from '../../../sdk/src/index.ts';
import { environmentOfKey } from '../../domain/api-key.ts';
import { type CommandContext, CommandError, type Paint, apiKeyOf, describedCommand } from '../context.ts';
import { facts, table } from '../table.ts';
import { type Buyer, createBuyer } from './buyer.ts';
import { nearest } from './nearest.ts';
import { OUTCOMES, type Outcome, tagged } from './outcomes.ts';
import { amountOf, kindOption, metadataOption, pairsOf } from '../values.ts';
import { dollars, plain, statusCell } from '../words.ts';

interface Options {
  list?: boolean;
  session?: string;
  amount: string;
  customer: string;
  product: string;
  metadata: string[];
  kind?: 'card' | 'wallet' | 'local';
}

/** What came of it. */
interface Triggered {
  outcome: string;
  /** What the buyer did, a sentence each. */
  steps: string[];
  session: CheckoutSession;
  payments: Payment[];
  events: WebhookEvent[];
}

/** What a session that is there has already. */
const OF_A_NEW_SESSION = ['amount', 'product', 'customer', 'metadata'];
const POLL_MS = 250;
/** Beyond what the outcome itself takes. */
const PATIENCE_MS = 30_000;
const PAGE = 100;

/** `trigger`: drives a real sandbox checkout to an outcome, by the buttons that a buyer presses. */
export function triggerCommand(context: CommandContext): Command {
  const command = describedCommand('trigger [event]', {
    summary: 'Make an event happen: drive a real sandbox checkout to its outcome',
    details:
      'Creates a session, goes through the hosted checkout and the pages of the simulated provider as a buyer does, and ' +
      'waits for the event. Nothing is made up: webhooks, payments and the ledger are those of a real checkout. ' +
      'tillway trigger --list says what there is.',
    examples: [
      'tillway trigger payment.paid',
      'tillway trigger payment.failed --kind wallet',
      'tillway trigger payment.paid --session chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m',
      'tillway trigger payment.paid --amount 120 --metadata orderId=A-1001',
      'tillway trigger --list',
    ],
    data: 'print JSON, for programs',
  })
    .option('--list', 'the outcomes that there are')
    .addOption(
      new Option(
        '--session <id>',
        'pay this sandbox session, by its id or its checkoutUrl, instead of a new one',
      ).conflicts(OF_A_NEW_SESSION),
    )
    .option('--amount <number>', 'in US dollars; default 49.99', '49.99')
    .option('--product <text>', 'what is sold; default Field guide', 'Field guide')
    .option('--customer <email>', "the buyer's address; default buyer@example.com", 'buyer@example.com')
    .addOption(metadataOption())
    .addOption(kindOption('how the buyer pays; left out, as the checkout proposes'));
  nameChoices(command);

  return command.action(async (name: string | undefined, options: Options) => {
    if (options.list) {
      const list = OUTCOMES.map(({ name: each, ends, summary, takesSeconds = 0 }) => ({
        name: each,
        ends,
        summary,
        takesSeconds,
      }));
      context.tell(command, { object: 'list', data: list, hasMore: false }, (_, paint) => tellList(paint));
      return;
    }
    const outcome = outcomeOf(name);
    refuseLiveKey(context);
    const isJson = context.isJson(command);
    const paint = context.paint(command);
    const steps: string[] = [];
    const tell = (what: string) => {
      steps.push(what);
      if (!isJson) context.terminal.write(`${paint('dim', 'buyer')}  ${plain(what)}\n`);
    };
    const client = context.client(command);
    const created = await (options.session === undefined
      ? createSession(client, outcome, options)
      : existingSession(client, outcome, options.session));
    const { checkoutUrl } = created;
    const buyer = createBuyer({ serviceUrl: context.urlOf(command), checkoutUrl, outcome, kind: options.kind, tell });
    const events = await drive(context, client, { session: created, outcome, buyer, tell });
    const session = await client.sessions.get(created.id);
    const payments = await client.payments.list({ paymentId: created.id, limit: PAGE });
    const triggered: Triggered = { outcome: outcome.name, steps, session, payments: payments.data, events };
    context.tell(command, { object: 'trigger', ...triggered }, () => tellTriggered(triggered, paint));
  });
}

/** For the help, and for the completion of shells; what is none of them is refused in words of its own. */
function nameChoices(command: Command): void {
  const [argument] = command.registeredArguments;
  if (!argument) return;
  argument.choices(OUTCOMES.map(({ name }) => name)).description = 'which event, and which way to it';
  argument.argParser((text) => text);
}

/** With one, no session that this could make would be the key's to see. */
function refuseLiveKey({ terminal }: CommandContext): void {
  const key = apiKeyOf(terminal);
  if (key === undefined || environmentOfKey(key) === 'sandbox') return;
  throw new CommandError(
    1,
    'tillway trigger makes sandbox checkouts, and TILLWAY_API_KEY is a key of production: set it to one of the sandbox (sk_sandbox_...)',
  );
}

function outcomeOf(name: string | undefined): Outcome {
  const outcome = OUTCOMES.find((each) => each.name === name);
  if (outcome) return outcome;
  const all = 'tillway trigger --list shows all';
  const names = OUTCOMES.map((each) => each.name);
  if (name === undefined) {
    throw new CommandError(2, `name an event; ${all}:`, names.map((each) => `  ${each}\n`).join(''));
  }
  const near = nearest(name, names);
  const meant = near === undefined ? '' : ` (did you mean ${near}?)`;
  throw new CommandError(2, `there is no event ${JSON.stringify(name)}${meant}; ${all}`);
}

async function createSession(client: Tillway, outcome: Outcome, options: Options): Promise<CheckoutSession> {
  const session = await client.sessions.create({
    product: options.product,
    amount: amountOf('--amount', options.amount),
    customer: tagged(options.customer, outcome.tag),
    metadata: pairsOf('--metadata', options.metadata),
    environment: 'sandbox',
    ...(options.kind && { preferredRoute: options.kind }),
  });
  if (session.environment === 'sandbox') return withPages(session);
  throw new CommandError(1, `the service made a session of ${session.environment}: nothing was pressed in it`);
}

/** A session that somebody else created, such as the reader's own program. */
async function existingSession(client: Tillway, { name, tag }: Outcome, named: string): Promise<CheckoutSession> {
  if (tag !== undefined) {
    throw new CommandError(
      2,
      `${name} goes by the buyer's address, so it needs a session of its own: leave --session out`,
    );
  }
  const id = /\bchk_\w+/.exec(named)?.[0];
  if (id === undefined) {
    throw new CommandError(
      2,
      `--session takes the id of a session, chk_..., or its checkoutUrl, not ${JSON.stringify(named)}`,
    );
  }
  const session = await client.sessions.get(id);
  if (session.environment === 'production') {
    throw new CommandError(1, `${id} is a session of production: nobody but its buyer can pay it`);
  }
  if (session.status === 'routed' || session.status === 'pending') return withPages(session);
  throw new CommandError(
    1,
    `${id} is ${session.status}: only a session that waits for its buyer can be driven to an outcome`,
  );
}

/** What a service says is not taken for granted: it may be another one. */
function withPages(session: CheckoutSession): CheckoutSession {
  if (URL.canParse(session.checkoutUrl)) return session;
  throw new CommandError(1, 'the service answered with a session that has no checkoutUrl: is it Tillway?');
}

interface Drive {
  session: CheckoutSession;
  outcome: Outcome;
  buyer: Buyer;
  tell(what: string): void;
}

/** Until the event is there; answers all events of the session, oldest first. */
async function drive(
  { terminal }: CommandContext,
  client: Tillway,
  { session, outcome, buyer, tell }: Drive,
): Promise<WebhookEvent[]> {
  const { ends, takesSeconds = 0 } = outcome;
  const until = terminal.now() + takesSeconds * 1000 + PATIENCE_MS;
  let hasWaited = false;
  for (;;) {
    const did = await buyer.step();
    const { data } = await client.events.list({ sessionId: session.id, limit: PAGE });
    const isThere = data.some(({ type }) => type === ends);
    if (isThere && (ends !== 'payment.provider_pending' || buyer.isDone())) return data.toReversed();
    const types = data.map(({ type }) => type);
    if (types.includes('payment.paid')) throw endedOtherwise(session, outcome, 'payment.paid');
    if (terminal.now() > until) throw endedOtherwise(session, outcome, types[0] ?? 'no event yet');
    if (did === 'goes_on') continue;
    if (takesSeconds > 0 && !hasWaited && buyer.isDone()) tell(`waits: this takes about ${takesSeconds} s`);
    hasWaited ||= buyer.isDone();
    await terminal.sleep(POLL_MS);
  }
}

function endedOtherwise({ id }: CheckoutSession, { name, ends }: Outcome, is: string): CommandError {
  return new CommandError(
    1,
    `${name} was to end with ${ends}, but there is ${is} in session ${id}`,
    `See tillway events list --session-id ${id}, and tillway routes why ${id}.\n`,
  );
}

function tellList(paint: Paint): string {
  return table(
    ['EVENT', 'WHAT HAPPENS'],
    OUTCOMES.map(({ name, summary }) => [{ text: name, style: 'bold' }, summary]),
    paint,
  );
}

function tellTriggered({ session, payments, events }: Triggered, paint: Paint): string {
  const head = facts(
    [
      ['Session', session.id],
      ['Status', statusCell(session.status)],
      ['Amount', dollars(session.amount)],
      ['Customer', session.customer],
    ],
    paint,
  );
  const paid = payments.toReversed().map(({ id, status, route }) => [id, statusCell(status), route.label]);
  const made = events.map(({ id, type }) => [type, id]);
  return `\n${head}\n${table(['PAYMENT', 'STATUS', 'ROUTE'], paid, paint)}\n${table(['EVENT', 'ID'], made, paint)}`;
}
