import type { Command } from 'commander';
import type { CheckoutSession, Payment, Tillway, WebhookEvent } from '../../../sdk/src/index.ts';
import { nearestName } from '../../operations/nearest-name.ts';
import { type CommandContext, CommandError, describedCommand, usualEnvironment } from '../command-context.ts';
import { showRecord, showTable } from '../record-fields.ts';
import { amountOf, kindOption, metadataOption, option } from '../options.ts';
import { plain } from '../cells.ts';
import { type Buyer, createBuyer } from './buyer.ts';
import { OUTCOMES, type Outcome, withTag } from './outcomes.ts';

interface Options {
  list?: boolean;
  session?: string;
  amount: string;
  customer: string;
  product: string;
  metadata: Record<string, string>;
  kind?: 'card' | 'wallet' | 'local';
}

const POLL_MS = 250;
/** Additional time to wait after the expected duration of an outcome. */
const PATIENCE_MS = 30_000;
const PAGE = 100;

/** The `trigger` command: completes a real sandbox checkout with the forms and links that a buyer uses. */
export function triggerCommand(context: CommandContext): Command {
  const command = describedCommand('trigger [event]', {
    summary: 'Trigger an event by completing a real sandbox checkout',
    details:
      'Creates a session, completes the hosted checkout and the pages of the simulated provider as a buyer would, and ' +
      'waits for the event. Webhooks, payments and ledger entries are those of a real checkout. ' +
      'tillway trigger --list shows all outcomes.',
    examples: [
      'tillway trigger payment.paid',
      'tillway trigger payment.failed --kind wallet',
      'tillway trigger payment.paid --session chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m',
      'tillway trigger payment.paid --amount 120 --metadata orderId=A-1001',
      'tillway trigger --list',
    ],
    options: [
      option('--list', 'list all outcomes'),
      option(
        '--session <id>',
        'id or checkoutUrl of an existing sandbox session to pay; default: a new session',
      ).conflicts(
        // An existing session already has these values.
        ['amount', 'product', 'customer', 'metadata'],
      ),
      option('--amount <number>', 'in US dollars; default 49.99').default('49.99'),
      option('--product <text>', 'product name; default Field guide').default('Field guide'),
      option('--customer <email>', "buyer's email address; default buyer@example.com").default('buyer@example.com'),
      metadataOption(),
      kindOption('payment method of the buyer; default: the one that the checkout preselects'),
    ],
    data: 'print JSON',
  });
  // The choices appear in help and completion; `outcomeOf` rejects other names with a suggestion.
  const [argument] = command.registeredArguments;
  argument!.choices(OUTCOMES.map(({ name }) => name)).description = 'outcome: the event, or the event with a suffix';
  argument!.argParser((text) => text);

  return command.action(async (name: string | undefined, options: Options) => {
    const paint = context.paint(command);
    if (options.list) {
      const list = { object: 'list', data: OUTCOMES, hasMore: false };
      return context.tell(command, list, () => showOutcomes(OUTCOMES, paint));
    }
    const outcome = outcomeOf(name);
    refuseLiveKey(context);
    const isJson = context.isJson(command);
    /** Descriptions of the buyer's actions. */
    const steps: string[] = [];
    const tell = (what: string) => {
      steps.push(what);
      if (!isJson) context.terminal.write(`${paint('dim', 'buyer')}  ${plain(what)}\n`);
    };
    const client = context.client(command);
    const created = await (options.session === undefined
      ? createSession(client, outcome, options)
      : existingSession(client, outcome, options.session));
    const { id, checkoutUrl } = created;
    if (!URL.canParse(checkoutUrl)) {
      throw new CommandError(1, 'the service returned a session without checkoutUrl, so it is not Tillway');
    }
    const buyer = createBuyer({ serviceUrl: context.urlOf(command), checkoutUrl, outcome, kind: options.kind, tell });
    const events = await drive(context, client, { session: created, outcome, buyer });
    const session = await client.sessions.get(id);
    const { data: payments } = await client.payments.list({ paymentId: id, limit: PAGE });
    const triggered = { object: 'trigger', outcome: outcome.name, steps, session, payments, events };
    const shown = () => [
      showSession(session, paint),
      showPayments(payments.toReversed(), paint),
      showEvents(events, paint),
    ];
    context.tell(command, triggered, () => `\n${shown().join('\n')}`);
  });
}

/** Rejects a production key, because it cannot access the sandbox session that this command creates. */
function refuseLiveKey(context: CommandContext): void {
  if (usualEnvironment(context) === 'sandbox') return;
  throw new CommandError(
    1,
    'tillway trigger creates sandbox checkouts, but TILLWAY_API_KEY is a production key: set it to a sandbox key (sk_sandbox_...)',
  );
}

function outcomeOf(name: string | undefined): Outcome {
  const outcome = OUTCOMES.find((each) => each.name === name);
  if (outcome) return outcome;
  const all = 'tillway trigger --list shows all events';
  const names = OUTCOMES.map((each) => each.name);
  if (name === undefined) {
    throw new CommandError(2, `name an event; ${all}:`, names.map((each) => `  ${each}\n`).join(''));
  }
  const near = nearestName(name, names);
  const meant = near === undefined ? '' : ` (did you mean ${near}?)`;
  throw new CommandError(2, `there is no event ${JSON.stringify(name)}${meant}; ${all}`);
}

async function createSession(client: Tillway, outcome: Outcome, options: Options): Promise<CheckoutSession> {
  const session = await client.sessions.create({
    product: options.product,
    amount: amountOf('--amount', options.amount),
    customer: withTag(options.customer, outcome.tag),
    metadata: options.metadata,
    environment: 'sandbox',
    preferredRoute: options.kind,
  });
  if (session.environment === 'sandbox') return session;
  throw new CommandError(1, `the service created a session in ${session.environment}; no form was submitted`);
}

/** Fetches the session that --session names, and checks that the trigger can pay it. */
async function existingSession(client: Tillway, { name, tag }: Outcome, named: string): Promise<CheckoutSession> {
  if (tag !== undefined) {
    const why = `${name} depends on the buyer's email address, so it needs a new session`;
    throw new CommandError(2, `${why}: omit --session`);
  }
  const id = /\bchk_\w+/.exec(named)?.[0];
  if (id === undefined) {
    const form = '--session takes the id of a session, chk_..., or its checkoutUrl';
    throw new CommandError(2, `${form}, not ${JSON.stringify(named)}`);
  }
  const session = await client.sessions.get(id);
  if (session.environment === 'production') {
    throw new CommandError(1, `${id} is a production session, which only its buyer can pay`);
  }
  if (session.status === 'routed' || session.status === 'pending') return session;
  const rule = 'only a session that waits for its buyer can be paid';
  throw new CommandError(1, `${id} is ${session.status}: ${rule}`);
}

/** Lets the buyer act until the expected event exists. Returns all events of the session, oldest first. */
async function drive(
  { terminal }: CommandContext,
  client: Tillway,
  { session, outcome, buyer }: { session: CheckoutSession; outcome: Outcome; buyer: Buyer },
): Promise<WebhookEvent[]> {
  const { ends, takesSeconds = 0 } = outcome;
  const until = terminal.now() + takesSeconds * 1000 + PATIENCE_MS;
  for (;;) {
    const did = await buyer.step();
    const { data } = await client.events.list({ sessionId: session.id, limit: PAGE });
    const types = data.map(({ type }) => type);
    if (types.includes(ends) && (ends !== 'payment.provider_pending' || buyer.isDone())) return data.toReversed();
    if (types.includes('payment.paid')) throw endedOtherwise(session, outcome, 'payment.paid');
    if (terminal.now() > until) throw endedOtherwise(session, outcome, types[0] ?? 'no event yet');
    if (did === 'waits') await terminal.sleep(POLL_MS);
  }
}

function endedOtherwise({ id }: CheckoutSession, { name, ends }: Outcome, is: string): CommandError {
  return new CommandError(
    1,
    `${name} should end with ${ends}, but session ${id} has ${is}`,
    `See tillway events list --session-id ${id}, and tillway routes why ${id}.\n`,
  );
}

const showOutcomes = showTable<Outcome>({
  EVENT: ({ name }) => ({ text: name, style: 'bold' }),
  'WHAT HAPPENS': 'summary',
});
const showSession = showRecord<CheckoutSession>('session');
const showPayments = showTable<Payment>({ PAYMENT: 'id', STATUS: 'status', ROUTE: ({ route }) => route.label });
const showEvents = showTable<WebhookEvent>({ EVENT: 'type', ID: 'id' });
