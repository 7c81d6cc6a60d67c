import type { Command } from 'commander';
import type { VerifiedSample, WebhookExample } from '../../sdk/src/index.ts';
import { PROVIDER_STATUSES } from '../domain/records.ts';
import { STATUS_TYPES } from '../domain/webhook-endpoint.ts';
import { type Acted, act } from './actions.ts';
import { type CommandContext, type Paint, serviceCommand } from './command-context.ts';
import { EXAMPLE } from './example-ids.ts';
import { showRecord } from './record-fields.ts';
import { amountOption, choiceOption, metadataOption, option } from './options.ts';
import { plain } from './cells.ts';

/** `tillway webhook example`: a delivery as an endpoint would receive it. */
export function webhookExampleCommand(context: CommandContext): Command {
  return serviceCommand(context, 'example', {
    summary: 'Show a webhook as it would arrive, signed with a sample secret',
    details:
      'Headers, an empty line, and the body to the byte as it is signed. The sample secret is sampleSecret in the webhooks of /api/agent/capabilities.',
    examples: ['tillway webhook example', 'tillway webhook example --event payment.failed --amount 20 --json'],
    options: [
      choiceOption('--event <type>', 'default: payment.paid', STATUS_TYPES),
      amountOption('--amount', 'US dollars, not cents: 49.99'),
      option('--session-id <id>', 'the session it names'),
      option('--customer-id <id>', 'the customer it names'),
      option('--route <id>', 'the route it names'),
      option('--provider <name>', 'the provider it names'),
      option('--tx-hash <text>', "the provider's reference"),
      option('--no-tx-hash', 'no reference, for a provider that gives none'),
      option('--livemode', 'as in production'),
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
      // A file needs every byte; a terminal must not obey control characters in the text of others.
      return `${lines.join('')}\n${context.terminal.columns === undefined ? body : plain(body)}\n`;
    },
  });
}

/** `tillway webhook verify-sample`: the service's check of a provider callback. */
export function webhookVerifySampleCommand(context: CommandContext): Command {
  return serviceCommand(context, 'verify-sample', {
    summary: "Have a provider's callback checked, as the service would take it",
    details: 'A correctly signed callback is applied to its sandbox session; any other is only checked.',
    examples: [
      `tillway webhook verify-sample --event-id evt_provider_1 --session-id ${EXAMPLE.session} --status paid --amount 49.99`,
    ],
    options: [
      option('--event-id <id>', "the provider's id of it").makeOptionMandatory(),
      option('--session-id <id>', 'the checkout session').makeOptionMandatory(),
      choiceOption('--status <status>', 'status that the provider reports', PROVIDER_STATUSES).makeOptionMandatory(),
      amountOption('--amount', 'US dollars, not cents: 49.99').makeOptionMandatory(),
      option('--provider <name>', 'the provider that calls'),
      option('--signature <text>', 't=<unix seconds>,v1=<hex> is verified; anything else is a placeholder'),
      option('--tx-hash <text>', "the provider's reference"),
    ],
    ask: (client, { provider, signature, ...payload }: { provider?: string; signature?: string }) =>
      act<VerifiedSample>(client, 'webhook.verify_sample', { provider, signature, payload }),
    show: ({ result }: Acted<VerifiedSample>, paint: Paint) => showSample(result, paint),
  });
}

const showSample = showRecord<VerifiedSample>('sample', {
  signatureVerified: ({ signatureVerified }) =>
    signatureVerified ? { text: 'yes', style: 'green' } : 'no, a placeholder',
  merchantWebhookQueued: ({ merchantWebhookQueued }) =>
    merchantWebhookQueued ? 'yes: applied' : 'no: nothing was changed',
});
