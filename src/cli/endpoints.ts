import type { Command } from 'commander';
import type {
  WebhookEndpoint,
  WebhookEndpointParams,
  WebhookEndpointWithSecret,
  WebhookEventType,
  WebhookTest,
} from '../../sdk/src/index.ts';
import { type CommandContext, CommandError, type Paint, describedCommand } from './context.ts';
import { commandGroup } from './group.ts';
import { listCommand } from './list.ts';
import { facts } from './table.ts';
import { EVENT_TYPES, environmentOption } from './values.ts';
import { type Cell, plain, secondsOf, statusCell } from './words.ts';

const ENDPOINT = 'whe_01m7x0c2r5v8y1b4e7h0k3n6q9t2w5z8a1d4';
const MAX_OVERLAP_HOURS = 24;

/** Where webhooks go to. `others` are further commands on endpoints. */
export function endpointsCommand(context: CommandContext, others: readonly Command[]): Command {
  const list = listCommand<WebhookEndpoint, { environment?: WebhookEndpoint['environment'] }>(context, {
    name: 'endpoints',
    options: [],
    examples: ['tillway endpoints list --environment production'],
    headings: ['ENDPOINT', 'STATUS', 'ENVIRONMENT', 'URL', 'WHY'],
    row: ({ id, status, environment, url, disabledReason }): Cell[] => [
      id,
      statusCell(status),
      environment,
      url,
      disabledReason ?? '',
    ],
    list: (client, query) => client.webhookEndpoints.list(query),
  });

  const get = describedCommand('get <endpoint>', {
    summary: 'Show a webhook endpoint',
    examples: [`tillway endpoints get ${ENDPOINT}`],
  });
  get.action(async (id: string) => context.tell(get, await context.client(get).webhookEndpoints.get(id), tellEndpoint));

  return commandGroup(
    'endpoints',
    'Manage where webhooks go to',
    [
      list,
      get,
      createCommand(context),
      updateCommand(context),
      statusCommand(context, 'enable', 'active', 'Send to a disabled webhook endpoint again, what waits for it too'),
      statusCommand(
        context,
        'disable',
        'disabled',
        'Stop sending to a webhook endpoint; what waits for it goes on waiting',
      ),
      deleteCommand(context),
      rotateCommand(context),
      testCommand(context),
      ...others,
    ],
    { otherwise: 'list' },
  );
}

interface Fields {
  /** --url is that of the service, as everywhere. */
  to?: string;
  events?: WebhookEventType[];
  description?: string;
}

function createCommand(context: CommandContext): Command {
  const command = describedCommand('create', {
    summary: 'Create a webhook endpoint',
    details: 'Its secret is shown once: keep it where the receiver finds it.',
    examples: [
      'tillway endpoints create --to https://shop.example/webhooks --environment production',
      'tillway endpoints create --to http://127.0.0.1:4000/hook --events payment.paid,payment.failed',
    ],
  });
  withFields(command.requiredOption('--to <url>', 'where events are posted to'))
    .addOption(environmentOption('the events of this environment; default sandbox'))
    .action(async () => {
      const {
        to: url,
        events,
        description,
        environment,
      } = command.opts<Fields & { to: string } & Pick<WebhookEndpointParams, 'environment'>>();
      const made = await context.client(command).webhookEndpoints.create({ url, events, description, environment });
      context.tell(command, made, tellWithSecret);
    });
  return command;
}

function updateCommand(context: CommandContext): Command {
  const command = describedCommand('update <endpoint>', {
    summary: 'Change a webhook endpoint',
    details: 'What is not named stays as it is.',
    examples: [`tillway endpoints update ${ENDPOINT} --events payment.paid`],
  });
  return withFields(command.option('--to <url>', 'where events are posted to')).action(async (id: string) => {
    const { to: url, events, description } = command.opts<Fields>();
    const fields = { url, events, description };
    if (Object.values(fields).every((value) => value === undefined)) {
      throw new CommandError(2, 'nothing to change is named: --to, --events or --description');
    }
    context.tell(command, await context.client(command).webhookEndpoints.update(id, fields), tellEndpoint);
  });
}

function withFields(command: Command): Command {
  return command
    .option('--events <types>', `only these, separated by commas: ${EVENT_TYPES.join(', ')}`, eventsOf)
    .option('--description <text>', 'your own words about it');
}

function eventsOf(text: string): WebhookEventType[] {
  return text.split(',').map((name) => {
    const type = EVENT_TYPES.find((known) => known === name.trim());
    if (type !== undefined) return type;
    throw new CommandError(2, `--events knows no ${JSON.stringify(name)}; there are ${EVENT_TYPES.join(', ')}`);
  });
}

function statusCommand(
  context: CommandContext,
  name: 'enable' | 'disable',
  status: WebhookEndpoint['status'],
  summary: string,
): Command {
  const command = describedCommand(`${name} <endpoint>`, {
    summary,
    examples: [`tillway endpoints ${name} ${ENDPOINT}`],
  });
  return command.action(async (id: string) =>
    context.tell(command, await context.client(command).webhookEndpoints.update(id, { status }), tellEndpoint),
  );
}

function deleteCommand(context: CommandContext): Command {
  const command = describedCommand('delete <endpoint>', {
    summary: 'Delete a webhook endpoint for good',
    details: 'Its secrets are erased, and what waits for it is given up.',
    examples: [`tillway endpoints delete ${ENDPOINT}`],
  });
  return command.action(async (id: string) =>
    context.tell(
      command,
      await context.client(command).webhookEndpoints.delete(id),
      (gone) => `Deleted ${plain(gone.id)}.\n`,
    ),
  );
}

function rotateCommand(context: CommandContext): Command {
  const command = describedCommand('rotate-secret <endpoint>', {
    summary: 'Give a webhook endpoint a new secret',
    details:
      'The new secret is shown once. Deliveries are signed with those before, too, for 24 hours or what --expires-in-hours says; 0 ends them at once.',
    examples: [
      `tillway endpoints rotate-secret ${ENDPOINT}`,
      `tillway endpoints rotate-secret ${ENDPOINT} --expires-in-hours 0`,
    ],
  });
  command.option('--expires-in-hours <hours>', 'how long the secrets before still sign, 0 to 24', hoursOf);
  return command.action(async (id: string) => {
    const { expiresInHours } = command.opts<{ expiresInHours?: number }>();
    const rotated = await context.client(command).webhookEndpoints.rotateSecret(id, { expiresInHours });
    context.tell(command, rotated, tellWithSecret);
  });
}

function hoursOf(text: string): number {
  if (/^\d{1,2}$/.test(text) && Number(text) <= MAX_OVERLAP_HOURS) return Number(text);
  throw new CommandError(2, `--expires-in-hours takes whole hours, 0 to 24, such as 24, not ${JSON.stringify(text)}`);
}

function testCommand(context: CommandContext): Command {
  const command = describedCommand('test <endpoint>', {
    summary: 'Send a sample event to a webhook endpoint now',
    details:
      'Signed as real ones are, and no sale: it is not of live mode, and names a session that does not exist. Exits with 1 where it was not acknowledged.',
    examples: [`tillway endpoints test ${ENDPOINT}`],
  });
  return command.action(async (id: string) => {
    const result = await context.client(command).webhookEndpoints.test(id);
    context.tell(command, result, tellTest);
    if (!result.delivered) context.fail();
  });
}

function tellEndpoint(endpoint: WebhookEndpoint, paint: Paint): string {
  const { id, status, url, environment, source, events, description, created, secrets } = endpoint;
  const time = (value: string | null) => (value === null ? null : secondsOf(value));
  const expiring = secrets.flatMap(({ expiresAt }) => (expiresAt === null ? [] : [secondsOf(expiresAt)]));
  const about: [string, Cell | null][] = [
    ['Endpoint', id],
    ['Status', statusCell(status)],
    ['Why', endpoint.disabledReason],
    ['Disabled', time(endpoint.disabledAt)],
    ['URL', url],
    ['Environment', environment],
    ['Events', events.length === EVENT_TYPES.length ? 'all' : events.join(', ')],
    ['Description', description],
    ['Made by', source === 'configuration' ? 'WEBHOOK_URL of the service' : null],
    ['Failing since', time(endpoint.failingSince)],
    ['Last success', time(endpoint.lastSuccessAt)],
    ['Old secrets until', expiring.join(', ')],
    ['Created', secondsOf(created)],
  ];
  return facts(about, paint);
}

function tellWithSecret(endpoint: WebhookEndpointWithSecret, paint: Paint): string {
  const secret = paint('bold', plain(endpoint.secret));
  return `${tellEndpoint(endpoint, paint)}\nSecret, shown this once: ${secret}\n`;
}

function tellTest(result: WebhookTest, paint: Paint): string {
  const { delivered, failure, statusCode, durationMs, eventId, type, responseBody, headers } = result;
  const outcome: Cell = delivered ? { text: 'acknowledged', style: 'green' } : { text: failure ?? '', style: 'red' };
  return facts(
    [
      ['Outcome', outcome],
      ['HTTP', statusCode === null ? null : String(statusCode)],
      ['Took', `${durationMs} ms`],
      ['Event', `${type}  ${eventId}`],
      ['Headers', headers.join(', ')],
      ['Answer', responseBody.slice(0, 200)],
    ],
    paint,
  );
}
