import type { Command } from 'commander';
import type {
  Recovery,
  WebhookEndpoint,
  CreateWebhookEndpointParams,
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
  // The commands that show a secret print it on its own line.
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

const toOption = () => option('--to <url>', 'URL that receives the events');
const fieldOptions = () => [
  option('--events <types>', `event types to send, separated by commas: ${EVENT_TYPES.join(', ')}`, eventTypesOf),
  option('--description <text>', 'your own description'),
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
      throw new CommandError(2, 'nothing to change: give --to, --events or --description');
    },
  },
  enable: {
    summary: 'Enable a disabled webhook endpoint, and send its pending deliveries',
    run: ({ webhookEndpoints }, id) => webhookEndpoints.update(id, { status: 'active' }),
  },
  disable: {
    summary: 'Stop sending to a webhook endpoint; its deliveries stay pending',
    run: ({ webhookEndpoints }, id) => webhookEndpoints.update(id, { status: 'disabled' }),
  },
  delete: {
    summary: 'Delete a webhook endpoint permanently',
    details: 'Its secrets are erased, and its pending deliveries are cancelled.',
    show: ({ id }: { id: string }) => `Deleted ${plain(id)}.\n`,
  },
  'rotate-secret': {
    summary: 'Give a webhook endpoint a new secret',
    details:
      'The new secret is shown once. Earlier secrets also sign for 24 hours, or for --expires-in-hours; 0 revokes them at once.',
    examples: ['', '--expires-in-hours 0'],
    options: [option('--expires-in-hours <hours>', 'hours until earlier secrets expire, 0 to 24; default 24', hoursOf)],
    show: showWithSecret,
  },
  test: {
    summary: 'Send a sample event to a webhook endpoint now',
    details:
      'The event is signed like a real one, but its session does not exist. Exit code 1 if the endpoint did not acknowledge it.',
    show: showTest,
    isFailure: ({ delivered }: WebhookTest) => !delivered,
  },
  recover: {
    summary: 'Resend all unacknowledged events of a time range to an endpoint',
    details:
      'Sends the events in their original order. A failed delivery is retried as usual and does not delay ' +
      'the others. Repeating the command does not send an event twice.',
    examples: ['--from 2026-01-15T06:00:00Z', '--from 2026-01-15T06:00:00Z --until 2026-01-15T09:30:00Z --all'],
    options: [
      timeOption('--from', 'start of the time range, inclusive').makeOptionMandatory(),
      timeOption('--until', 'end of the time range, exclusive; default now'),
      option('--all', 'include acknowledged events'),
    ],
    show: showRecovery,
  },
  recovery: {
    on: 'recovery',
    summary: 'Show the progress of a recovery',
    show: showRecovery,
  },
};

/** The `endpoints` commands. `others` are additional commands of the group. */
export function endpointsCommand(context: CommandContext, others: readonly Command[]): Command {
  const create = serviceCommand(context, 'create', {
    summary: 'Create a webhook endpoint',
    details: 'The signing secret is shown only once: store it for the receiver.',
    examples: [
      'tillway endpoints create --to https://shop.example/webhooks --environment production',
      'tillway endpoints create --to http://127.0.0.1:4000/hook --events payment.paid,payment.failed',
    ],
    options: [
      toOption().makeOptionMandatory(),
      ...fieldOptions(),
      environmentOption('environment whose events are sent; default sandbox'),
    ],
    ask: (
      { webhookEndpoints },
      { to: url, ...options }: EndpointOptions & Pick<CreateWebhookEndpointParams, 'environment'>,
    ) => webhookEndpoints.create({ url: url!, ...options }),
    show: showWithSecret,
  });
  return resourceCommand<WebhookEndpoint>(context, {
    name: 'endpoints',
    summary: 'Manage webhook endpoints',
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
  throw new CommandError(2, `--expires-in-hours takes whole hours from 0 to 24, not ${JSON.stringify(text)}`);
}

function showWithSecret(endpoint: WebhookEndpointWithSecret, paint: Paint): string {
  const secret = paint('bold', plain(endpoint.secret));
  return `${showRecord('endpoint', ENDPOINT)(endpoint, paint)}\nSecret (shown only once): ${secret}\n`;
}
