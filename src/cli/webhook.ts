import { type Command, Option } from 'commander';
import type { ProviderStatus, VerifiedSample, WebhookEventType, WebhookExample } from '../../sdk/src/index.ts';
import { PROVIDER_STATUSES } from '../domain/records.ts';
import { act } from './actions.ts';
import { type CommandContext, describedCommand } from './context.ts';
import { facts } from './table.ts';
import { EVENT_TYPES, amountOf, metadataOption, pairsOf } from './values.ts';
import { plain, statusCell } from './words.ts';

interface ExampleOptions {
  event?: WebhookEventType;
  provider?: string;
  session?: string;
  customer?: string;
  amount?: string;
  route?: string;
  txHash?: string | false;
  livemode?: true;
  metadata: string[];
}

/** `tillway webhook example`: a delivery as it would arrive. */
export function webhookExampleCommand(context: CommandContext): Command {
  const command = describedCommand('example', {
    summary: 'Show a webhook as it would arrive, signed with a sample secret',
    details:
      'Headers, an empty line, and the body to the byte as it is signed. The sample secret is sampleSecret in the webhooks of /api/agent/capabilities.',
    examples: ['tillway webhook example', 'tillway webhook example --event payment.failed --amount 20 --json'],
  })
    .addOption(new Option('--event <type>', 'default: payment.paid').choices(EVENT_TYPES))
    .option('--amount <number>', 'US dollars, not cents: 49.99')
    .option('--session <id>', 'the session it names')
    .option('--customer <id>', 'the customer it names')
    .option('--route <id>', 'the route it names')
    .option('--provider <name>', 'the provider it names')
    .option('--tx-hash <text>', "the provider's reference")
    .option('--no-tx-hash', 'as where the provider gives none')
    .option('--livemode', 'as in production')
    .addOption(metadataOption());
  return command.action(async (options: ExampleOptions) => {
    const { event, provider, session, customer, amount, route, txHash, livemode, metadata } = options;
    const answer = await act<WebhookExample>(context.client(command), 'webhook.example', {
      event,
      provider,
      sessionId: session,
      customerId: customer,
      amount: amount === undefined ? undefined : amountOf('--amount', amount),
      routeId: route,
      txHash: txHash === false ? null : txHash,
      livemode,
      metadata: pairsOf('--metadata', metadata),
    });
    context.tell(command, answer, ({ result: { headers, payload } }, paint) => {
      const lines = Object.entries(headers).map(
        ([name, value]) => `${paint('dim', `${plain(name)}:`)} ${plain(value)}\n`,
      );
      const body = JSON.stringify(payload);
      // In a file every byte counts; a terminal must not obey what somebody wrote.
      return `${lines.join('')}\n${context.terminal.columns === undefined ? body : plain(body)}\n`;
    });
  });
}

interface VerifySampleOptions {
  eventId: string;
  session: string;
  status: ProviderStatus;
  amount: string;
  provider?: string;
  signature?: string;
  txHash?: string;
}

/** `tillway webhook verify-sample`: a callback of a provider, as Tillway would take it. */
export function webhookVerifySampleCommand(context: CommandContext): Command {
  const session = 'chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m';
  const command = describedCommand('verify-sample', {
    summary: "Have a provider's callback checked, as the service would take it",
    details: 'One that is rightly signed is applied to its sandbox session; any other is only checked.',
    examples: [
      `tillway webhook verify-sample --event-id evt_provider_1 --session ${session} --status paid --amount 49.99`,
    ],
  })
    .requiredOption('--event-id <id>', "the provider's id of it")
    .requiredOption('--session <id>', 'the checkout session')
    .addOption(
      new Option('--status <status>', 'what the provider says').choices(PROVIDER_STATUSES).makeOptionMandatory(),
    )
    .requiredOption('--amount <number>', 'US dollars, not cents: 49.99')
    .option('--provider <name>', 'the provider that calls')
    .option('--signature <text>', 't=<unix seconds>,v1=<hex> is verified; anything else is a placeholder')
    .option('--tx-hash <text>', "the provider's reference");
  return command.action(async (options: VerifySampleOptions) => {
    const { eventId, session: sessionId, status, amount, provider, signature, txHash } = options;
    const payload = { eventId, sessionId, status, amount: amountOf('--amount', amount), txHash };
    const body = { provider, signature, payload };
    const answer = await act<VerifiedSample>(context.client(command), 'webhook.verify_sample', body);
    context.tell(command, answer, ({ result }, paint) =>
      facts(
        [
          ['Event', result.eventId],
          ['Session', result.sessionId],
          ['Status', statusCell(result.status)],
          ['Provider', result.provider],
          [
            'Signature',
            result.signatureVerified ? { text: 'verified', style: 'green' } : 'a placeholder, not verified',
          ],
          [
            'Applied',
            result.merchantWebhookQueued ? 'yes: a webhook to the merchant is queued' : 'no: nothing was changed',
          ],
        ],
        paint,
      ),
    );
  });
}
