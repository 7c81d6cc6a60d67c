import { isIP } from 'node:net';
import { invalidField } from '../../domain/gateway-error.ts';
import type { Environment } from '../../domain/route.ts';
import { type WebhookTargets, blockReason, targetsOf } from '../../webhooks/address.ts';

/**
 * Refuses what no event could ever be delivered to, or what would carry production events in the clear, with GatewayError
 * `invalid_input`. A host name is looked up whenever it is connected to, and not here.
 */
export function checkUrl(url: string, environment: Environment, configured: WebhookTargets): void {
  const targets = targetsOf(environment, configured);
  const { protocol, hostname } = new URL(url);
  const address = hostname.replace(/^\[|\]$/g, '');
  const reason = isIP(address) === 0 ? undefined : blockReason(address, targets);
  if (reason !== undefined) {
    throw invalidField(
      'url',
      'blocked_destination',
      `must not go to ${address}: it ${reason}`,
      'Set url to an address that this service may send to; WEBHOOK_ALLOW_PRIVATE=true of the service allows private ones; then resend.',
    );
  }
  // Plain where the operator's own network has been opened.
  if (environment === 'production' && protocol === 'http:' && targets !== 'any') {
    throw invalidField(
      'url',
      'invalid_format',
      'must use https in production',
      'Set url to an https URL; then resend.',
    );
  }
}
