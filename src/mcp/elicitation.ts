import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  type McpServer,
  type ServerContext,
  inputRequired,
} from '@modelcontextprotocol/server';
import type { CheckoutResult } from '../contract/action-contract.ts';
import type { RandomBytes } from '../domain/id.ts';
import { isRecord } from '../domain/is-record.ts';
import type { Envelope } from './tools.ts';

const PAYMENT = 'payment';

/** A call of the tool `checkout_create` from a client that can open the checkout page for its user. */
export interface PayableCall {
  /** Input with an idempotency key, so that the client's second call, after the user's answer, creates no second checkout. */
  input: unknown;
  /** Returns the request to open `checkoutUrl`; undefined if the user has answered the request, or no checkout was created. */
  request(envelope: Envelope): InputRequiredResult | undefined;
}

/**
 * Returns the payable call if the client has declared the capability `elicitation.url`, otherwise undefined. Clients of the 2025
 * protocol versions declare it when they connect, so their stateless requests lack it.
 *
 * The request state that the client returns is the idempotency key. It is not signed: a client that changes the state could as
 * well send another key in the input.
 */
export function payableCall(
  { server }: McpServer,
  { mcpReq }: ServerContext,
  sent: unknown,
  randomBytes: RandomBytes,
): PayableCall | undefined {
  const envelope: { [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined = mcpReq.envelope;
  const declared = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
  if (!declared?.elicitation?.url || !isRecord(sent)) return undefined;
  const requestState = mcpReq.requestState<string>() ?? `mcp_${Buffer.from(randomBytes(16)).toString('hex')}`;
  const { idempotencyKey } = sent;
  return {
    input: { ...sent, idempotencyKey: idempotencyKey ?? requestState },
    request(envelope) {
      if (!envelope.ok || mcpReq.inputResponses?.[PAYMENT] !== undefined) return undefined;
      const { product, merchant, amount, checkoutUrl } = envelope.result as CheckoutResult;
      const message = `Pay ${merchant} for ${product}: ${amount.toFixed(2)} US dollars.`;
      return inputRequired({
        requestState,
        inputRequests: { [PAYMENT]: inputRequired.elicitUrl({ message, url: checkoutUrl }) },
      });
    },
  };
}
