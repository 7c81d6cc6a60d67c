import { type Tracing, traced } from '../telemetry/tracing.ts';
import type { Provider } from './provider.ts';

type ProviderCall = 'handoff' | 'query' | 'inquire' | 'cancel' | 'capture' | 'refund' | 'inquireRefund' | 'proveRefund';

/** Function that is called after every provider call. `result` has few values, so that it can label a metric. */
export type OnProviderCall = (provider: string, call: ProviderCall, result: string, seconds: number) => void;

/** Wraps a provider so that each call is measured and traced. */
export function observeProvider(
  provider: Provider,
  tracing: Tracing | undefined,
  onCall: OnProviderCall | undefined,
): Provider {
  function observed<Args extends unknown[], Answer>(
    call: ProviderCall,
    ask: (...args: Args) => Promise<Answer>,
    resultOf: (answer: Answer) => string,
  ): (...args: Args) => Promise<Answer> {
    const attributes = { 'tillway.provider': provider.id };
    const start = { name: `${provider.id} ${call}`, kind: 'client', attributes } as const;
    return (...args) =>
      traced(tracing, start, async (span) => {
        const began = performance.now();
        let result = 'error';
        try {
          const answer = await ask(...args);
          result = resultOf(answer);
          return answer;
        } finally {
          span?.set({ 'tillway.provider.result': result });
          onCall?.(provider.id, call, result, (performance.now() - began) / 1000);
        }
      });
  }

  const { query, capture, returnHint, instructions, proveRefund, watch, settlementFile } = provider;
  // Every method is listed, because `...provider` would lose the methods of an adapter that is a class.
  return {
    id: provider.id,
    environment: provider.environment,
    traits: provider.traits,
    handoff: observed(
      'handoff',
      (request) => provider.handoff(request),
      ({ outcome }) => outcome,
    ),
    readCallback: (rawBody, headers) => provider.readCallback(rawBody, headers),
    ...(query && { query: observed('query', query.bind(provider), () => 'answered') }),
    ...(returnHint && { returnHint: returnHint.bind(provider) }),
    inquire: observed(
      'inquire',
      (payment, timeoutMs) => provider.inquire(payment, timeoutMs),
      (answer) => (typeof answer === 'string' ? answer : answer.report.state),
    ),
    cancel: observed(
      'cancel',
      (payment, timeoutMs) => provider.cancel(payment, timeoutMs),
      (answer) => answer,
    ),
    ...(capture && { capture: observed('capture', capture.bind(provider), ({ state }) => state) }),
    refund: observed(
      'refund',
      (request) => provider.refund(request),
      (answer) => (answer === 'unknown' ? answer : 'accepted'),
    ),
    inquireRefund: observed(
      'inquireRefund',
      (request) => provider.inquireRefund(request),
      (answer) => (answer ? answer.status : 'unknown'),
    ),
    ...(instructions && { instructions: instructions.bind(provider) }),
    ...(proveRefund && { proveRefund: observed('proveRefund', proveRefund.bind(provider), () => 'proven') }),
    ...(watch && { watch }),
    ...(settlementFile && { settlementFile }),
    check: () => provider.check(),
  };
}
