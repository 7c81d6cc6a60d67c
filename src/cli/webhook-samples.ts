import type { Command } from 'commander';
import type { VerifySampleResult, WebhookExample } from '../../sdk/src/index.ts';
import { PROVIDER_STATUSES } from '../domain/records.ts';
import { STATUS_TYPES } from '../domain/webhook-endpoint.ts';
import { act } from './actions.ts';
import { type CommandContext, serviceCommand } from './command-context.ts';
import { EXAMPLE } from './example-ids.ts';
import { showRecord } from './record-fields.ts';
import { amountOption, choiceOption, metadataOption, option } from './options.ts';
import { plain } from './cells.ts';

/** The `webhook example` command: shows a delivery as an endpoint would receive it. */
export function webhookExampleCommand(context: CommandContext): Command {
  return serviceCommand(context, 'example', {
    summary: 'Show an example webhook, signed with a sample secret',
    details:
      'Prints headers, an empty line, and exactly the signed body. The secret is webhooks.sampleSecret of /api/agent/capabilities.',
    examples: ['tillway webhook example', 'tillway webhook example --event payment.failed --amount 20 --json'],
    options: [
      choiceOption('--event <type>', 'default: payment.paid', STATUS_TYPES),
      amountOption('--amount', 'US dollars, not cents: 49.99'),
      option('--session-id <id>', 'session id in the event'),
      option('--customer-id <id>', 'customer id in the event'),
      option('--route <id>', 'route in the event'),
      option('--provider <name>', 'provider in the event'),
      option('--tx-hash <text>', 'provider reference in the event'),
      option('--no-tx-hash', 'omit the provider reference'),
      option('--livemode', 'set livemode to true, as in production'),
      metadataOption(),
    ],
    ask: (client, { route: routeId, txHash, ...options }: { route?: string; txHash?: string | false }) =>
      act<WebhookExample>(client, 'webhook.example', { ...options, routeId, txHash: txHash === false ? null : txHash }),
    show(answer, paint) {
      const { headers, payload } = answer.result;
      const lines = Object.entries(headers).map(
        ([name, value]) => `${paint('dim', `${plain(name)}:`)} ${plain(value)}\n`,
      );
      const body = JSON.stringify(payload);
      // A file needs the exact bytes; on a terminal, control characters are removed.
      return `${lines.join('')}\n${context.terminal.columns === undefined ? body : plain(body)}\n`;
    },
  });
}

/** The `webhook verify-sample` command: asks the service to check a provider callback. */
export function webhookVerifySampleCommand(context: CommandContext): Command {
  return serviceCommand(context, 'verify-sample', {
    summary: 'Check how the service would process a provider callback',
    details: 'A callback with a valid signature is applied to its sandbox session; other callbacks are only checked.',
    examples: [
      `tillway webhook verify-sample --event-id evt_provider_1 --session-id ${EXAMPLE.session} --status paid --amount 49.99`,
    ],
    options: [
      option('--event-id <id>', 'event id of the provider').makeOptionMandatory(),
      option('--session-id <id>', 'the checkout session').makeOptionMandatory(),
      choiceOption('--status <status>', 'status that the provider reports', PROVIDER_STATUSES).makeOptionMandatory(),
      amountOption('--amount', 'US dollars, not cents: 49.99').makeOptionMandatory(),
      option('--provider <name>', 'provider that sends the callback'),
      option('--signature <text>', 't=<unix seconds>,v1=<hex> is verified; any other text is a placeholder'),
      option('--tx-hash <text>', 'provider reference of the payment'),
    ],
    ask: (client, { provider, signature, ...payload }: { provider?: string; signature?: string }) =>
      act<VerifySampleResult>(client, 'webhook.verify_sample', { provider, signature, payload }),
    show: ({ result }, paint) => showSample(result, paint),
  });
}

const showSample = showRecord<VerifySampleResult>('sample', {
  signatureVerified: ({ signatureVerified }) =>
    signatureVerified ? { text: 'yes', style: 'green' } : 'no, a placeholder',
  merchantWebhookQueued: ({ merchantWebhookQueued }) =>
    merchantWebhookQueued ? 'yes: callback applied' : 'no: nothing was changed',
});
