import { GatewayError } from '../domain/gateway-error.ts';

/** The JSON of a verified callback. Throws GatewayError `invalid_input` unless the body is JSON in UTF-8. */
export function jsonOfCallback(rawBody: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(rawBody));
  } catch {
    throw new GatewayError('invalid_input', 'The callback is not valid JSON in UTF-8.');
  }
}
