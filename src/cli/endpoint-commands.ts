import type { Command } from 'commander';
import type {
  Recovery,
  WebhookEndpoint,
  WebhookEndpointParams,
  WebhookEndpointWithSecret,
  WebhookEventType,
  WebhookTest,
} from '../../sdk/src/index.ts';
import { type CommandContext, CommandError, type Paint, serviceCommand } from './command-context.ts';
import { type Cells, showRecord } from './record-fields.ts';
import { type Actions, resourceCommand } from './resource-command.ts';
import { EVENT_TYPES, environmentOption, eventTypesOf, option, timeOption } from './options.ts';
import { plain, secondsOf } from './cells.ts';

const MAX_OVERLAP_HOURS = 24;

const ENDPOINT: Cells<WebhookEndpoint> = {
  events: ({ events }) => (events.length === EVENT_TYPES.length ? 'all' : events.join(', ')),
  oldSecretsUntil: ({ secrets }) =>
    secrets.flatMap(({ expiresAt }) => (expiresAt === null ? [] : secondsOf(expiresAt))).join(', '),
  // Shown on a line of its own.
  secret: null,
};

const showTest = showRecord<WebhookTest>('test', {
  delivered: ({ delivered, failure }) =>
    delivered ? { text: 'acknowledged', style: 'green' } : { text: failure ?? '', style: 'red' },
  failure: null,
  responseBody: ({ responseBody }) => responseBody.slice(0, 200),
});

const showRecovery = showRecord<Recovery>('recovery');

interface EndpointOptions {
  /** Not `url`, because --url is the address of the service. */
  to?: string;
  events?: WebhookEventType[];
  description?: string;
}

const toOption = () => option('--to <url>', 'where events are posted to');
const fieldOptions = () => [
  option('--events <types>', `only these, separated by commas: ${EVENT_TYPES.join(', ')}`, eventTypesOf),
  option('--description <text>', 'your own words about it'),
];

const ACTIONS: Actions = {
  update: {
    summary: 'Change a webhook endpoint',
    details: 'Fields without an option stay unchanged.',
    examples: ['--events payment.paid'],
    options: [toOption(), ...fieldOptions()],
    async run({ webhookEndpoints }, id, { to: url, ...options }: EndpointOptions) {
      const changes = { ...options, ...(url !== undefined && { url }) };
      if (Object.keys(changes).length > 0) return webhookEndpoints.update(id, changes);
      throw new CommandError(2, 'nothing to change is named: --to, --events or --description');
    },
  },
  enable: {
    summary: 'Send to a disabled webhook endpoint again, what waits for it too',
    run: ({ webhookEndpoints }, id) => webhookEndpoints.update(id, { status: 'active' }),
  },
  disable: {
    summary: 'Stop sending to a webhook endpoint; what waits for it goes on waiting',
    run: ({ webhookEndpoints }, id) => webhookEndpoints.update(id, { status: 'disabled' }),
  },
  delete: {
    summary: 'Delete a webhook endpoint for good',
    details: 'Its secrets are erased, and what waits for it is given up.',
    show: ({ id }: { id: string }) => `Deleted ${plain(id)}.\n`,
  },
  'rotate-secret': {
    summary: 'Give a webhook endpoint a new secret',
    details:
      'The new secret is shown once. Deliveries are signed with those before, too, for 24 hours or what --expires-in-hours says; 0 ends them at once.',
    examples: ['', '--expires-in-hours 0'],
    options: [option('--expires-in-hours <hours>', 'how long the secrets before still sign, 0 to 24', hoursOf)],
    show: showWithSecret,
  },
  test: {
    summary: 'Send a sample event to a webhook endpoint now',
    details:
      'Signed as real ones are, and no sale: it is not of live mode, and names a session that does not exist. Exits with 1 where it was not acknowledged.',
    show: showTest,
    isFailure: ({ delivered }: WebhookTest) => !delivered,
  },
  recover: {
    summary: 'Send an endpoint every event of a time that it has not acknowledged',
    details:
      'Each event once, in the order in which they happened. One that fails is tried again as always, and does not hold ' +
      'the others up. Asking twice sends nothing twice.',
    examples: ['--from 2026-01-15T06:00:00Z', '--from 2026-01-15T06:00:00Z --until 2026-01-15T09:30:00Z --all'],
    options: [
      timeOption('--from', 'events made then or later').makeOptionMandatory(),
      timeOption('--until', 'events made before; default now'),
      option('--all', 'also what the endpoint has acknowledged'),
    ],
    show: showRecovery,
  },
  recovery: {
    on: 'recovery',
    summary: 'Show how far a recovery has got',
    show: showRecovery,
  },
};

/** `others` are further commands about endpoints. */
export function endpointsCommand(context: CommandContext, others: readonly Command[]): Command {
  const create = serviceCommand(context, 'create', {
    summary: 'Create a webhook endpoint',
    details: 'Its secret is shown once: keep it where the receiver finds it.',
    examples: [
      'tillway endpoints create --to https://shop.example/webhooks --environment production',
      'tillway endpoints create --to http://127.0.0.1:4000/hook --events payment.paid,payment.failed',
    ],
    options: [
      toOption().makeOptionMandatory(),
      ...fieldOptions(),
      environmentOption('the events of this environment; default sandbox'),
    ],
    ask: (
      { webhookEndpoints },
      { to: url, ...options }: EndpointOptions & Pick<WebhookEndpointParams, 'environment'>,
    ) => webhookEndpoints.create({ url: url!, ...options }),
    show: showWithSecret,
  });
  return resourceCommand<WebhookEndpoint>(context, {
    name: 'endpoints',
    summary: 'Manage where webhooks go to',
    one: 'endpoint',
    of: 'webhookEndpoints',
    examples: ['tillway endpoints list --environment production'],
    columns: ['id', 'status', 'environment', 'url', 'disabledReason'],
    cells: ENDPOINT,
    actions: ACTIONS,
    others: [create, ...others],
    order: ['list', 'get', 'create'],
  });
}

function hoursOf(text: string): number {
  if (/^\d{1,2}$/.test(text) && Number(text) <= MAX_OVERLAP_HOURS) return Number(text);
  throw new CommandError(2, `--expires-in-hours takes whole hours, 0 to 24, such as 24, not ${JSON.stringify(text)}`);
}

function showWithSecret(endpoint: WebhookEndpointWithSecret, paint: Paint): string {
  const secret = paint('bold', plain(endpoint.secret));
  return `${showRecord('endpoint', ENDPOINT)(endpoint, paint)}\nSecret, shown this once: ${secret}\n`;
}
