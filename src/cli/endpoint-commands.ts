import type {
  CreateWebhookEndpointParams,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
  WebhookTest,
} from '../../sdk/src/index.ts';
import { EVERY_TYPE } from '../domain/webhook-endpoint.ts';
import { CommandError, type Paint } from './command-context.ts';
import { EXAMPLE } from './example-ids.ts';
import { type Cells, showRecord } from './record-fields.ts';
import type { Resource } from './resource-command.ts';
import { environmentOption, eventTypesOption, option, timeOption } from './options.ts';
import { plain, secondsOf } from './cells.ts';

const MAX_OVERLAP_HOURS = 24;

const ENDPOINT: Cells<WebhookEndpoint> = {
  events: ({ events }) => (events.length === EVERY_TYPE.length ? 'all' : events.join(', ')),
  oldSecretsUntil: ({ secrets }) =>
    secrets.flatMap(({ expiresAt }) => (expiresAt === null ? [] : secondsOf(expiresAt))).join(', '),
  // The commands that show a secret print it on its own line.
  secret: null,
};

/** Options of the commands create and update; --to, because --url is the address of the service. */
type EndpointOptions = Omit<CreateWebhookEndpointParams, 'url'> & { to: string };

const toOption = () => option('--to <url>', 'URL that receives the events');
const fieldOptions = () => [eventTypesOption('send'), option('--description <text>', 'your own description')];

export const endpoints: Resource<WebhookEndpoint> = {
  name: 'endpoints',
  summary: 'Manage webhook endpoints',
  one: 'endpoint',
  of: 'webhookEndpoints',
  examples: ['--environment production'],
  columns: ['id', 'status', 'environment', 'url', 'disabledReason'],
  cells: ENDPOINT,
  actions: {
    create: {
      on: null,
      summary: 'Create a webhook endpoint',
      details: 'The signing secret is shown only once: store it for the receiver.',
      examples: [
        '--to https://shop.example/webhooks --environment production',
        '--to http://127.0.0.1:4000/hook --events payment.paid,payment.failed',
      ],
      options: [
        toOption().makeOptionMandatory(),
        ...fieldOptions(),
        environmentOption('environment whose events are sent; default sandbox'),
      ],
      ask: ({ webhookEndpoints }, { to: url, ...options }: EndpointOptions) =>
        webhookEndpoints.create({ url, ...options }),
      show: showWithSecret,
    },
    update: {
      summary: 'Change a webhook endpoint',
      details: 'Fields without an option stay unchanged.',
      examples: [`${EXAMPLE.endpoint} --events payment.paid`],
      options: [toOption(), ...fieldOptions()],
      async ask({ webhookEndpoints }, { to: url, ...options }: Partial<EndpointOptions>, id) {
        const changes = { ...options, ...(url !== undefined && { url }) };
        if (Object.keys(changes).length > 0) return webhookEndpoints.update(id, changes);
        throw new CommandError(2, 'nothing to change: give --to, --events or --description');
      },
    },
    enable: {
      summary: 'Enable a disabled webhook endpoint, and send its pending deliveries',
      ask: ({ webhookEndpoints }, _options, id) => webhookEndpoints.update(id, { status: 'active' }),
    },
    disable: {
      summary: 'Stop sending to a webhook endpoint; its deliveries stay pending',
      ask: ({ webhookEndpoints }, _options, id) => webhookEndpoints.update(id, { status: 'disabled' }),
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
      examples: [EXAMPLE.endpoint, `${EXAMPLE.endpoint} --expires-in-hours 0`],
      options: [
        option('--expires-in-hours <hours>', 'hours until earlier secrets expire, 0 to 24; default 24', hoursOf),
      ],
      show: showWithSecret,
    },
    test: {
      summary: 'Send a sample event to a webhook endpoint now',
      details:
        'The event is signed like a real one, but its session does not exist. Exit code 1 if the endpoint did not acknowledge it.',
      show: showRecord<WebhookTest>('test', {
        delivered: ({ delivered }) => (delivered ? { text: 'acknowledged', style: 'green' } : null),
        failure: null,
        failed: ({ failure }) => (failure === null ? null : { text: failure, style: 'red' }),
        responseBody: ({ responseBody }) => responseBody.slice(0, 200),
      }),
      isFailure: ({ delivered }: WebhookTest) => !delivered,
    },
    recover: {
      summary: 'Resend all unacknowledged events of a time range to an endpoint',
      details:
        'Sends the events in their original order. A failed delivery is retried as usual and delays only later ' +
        'events of its session. Repeating the command does not send an event twice.',
      examples: [
        `${EXAMPLE.endpoint} --from 2026-01-15T06:00:00Z`,
        `${EXAMPLE.endpoint} --from 2026-01-15T06:00:00Z --until 2026-01-15T09:30:00Z --all`,
      ],
      options: [
        timeOption('--from', 'start of the time range, inclusive').makeOptionMandatory(),
        timeOption('--until', 'end of the time range, exclusive; default now'),
        option('--all', 'include acknowledged events'),
      ],
      show: showRecord('recovery'),
    },
    recovery: { on: 'recovery', summary: 'Show the progress of a recovery', show: showRecord('recovery') },
  },
};

function hoursOf(text: string): number {
  if (/^\d{1,2}$/.test(text) && Number(text) <= MAX_OVERLAP_HOURS) return Number(text);
  throw new CommandError(2, `--expires-in-hours takes whole hours from 0 to 24, not ${JSON.stringify(text)}`);
}

function showWithSecret(endpoint: WebhookEndpointWithSecret, paint: Paint): string {
  const secret = paint('bold', plain(endpoint.secret));
  return `${showRecord('endpoint', ENDPOINT)(endpoint, paint)}\nSecret (shown only once): ${secret}\n`;
}
