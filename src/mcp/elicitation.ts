import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  type McpServer,
  type ServerContext,
  inputRequired,
} from '@modelcontextprotocol/server';
import type { CheckoutResult } from '../contract/action-contract.ts';
import type { Envelope } from './tools.ts';

const PAYMENT = 'payment';

/** A call of `checkout_create` whose host can open the checkout for its user. */
export interface PayableCall {
  /** The input with an idempotency key, because the host repeats the call and must not create a second checkout. */
  input: unknown;
  /** The request to open `checkoutUrl`; undefined once the user has answered it, or if the call created no checkout. */
  request(envelope: Envelope): InputRequiredResult | undefined;
}

/**
 * The call, if the client has declared `elicitation.url`; else undefined. Clients of the 2025 protocol versions declare it when
 * they connect, so their stateless requests do not have the declaration.
 *
 * The state that the client returns is only the idempotency key, so it needs no signature: a client that changes it has sent
 * another key, which it could also have put into the input.
 */
export function payableCall(
  { server }: McpServer,
  { mcpReq }: ServerContext,
  sent: unknown,
  newKey: () => string,
): PayableCall | undefined {
  const envelope: { [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined = mcpReq.envelope;
  const declared = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
  if (!declared?.elicitation?.url || typeof sent !== 'object' || sent === null || Array.isArray(sent)) return undefined;
  const requestState = mcpReq.requestState<string>() ?? newKey();
  const { idempotencyKey } = sent as { idempotencyKey?: unknown };
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
