import { type Tracing, traced } from '../telemetry/tracing.ts';
import type { Provider } from './provider.ts';

type ProviderCall = 'handoff' | 'inquire' | 'cancel' | 'refund';

/** Callback after every call to a provider. `result` has few values, so that it can label a metric. */
export type OnProviderCall = (provider: string, call: ProviderCall, result: string, seconds: number) => void;

/** The same provider, with its calls measured and traced. */
export function observeProvider<Observed extends Provider>(
  provider: Observed,
  tracing: Tracing | undefined,
  onCall: OnProviderCall | undefined,
): Observed {
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

  return {
    ...provider,
    handoff: observed('handoff', provider.handoff, ({ outcome }) => outcome),
    inquire: observed('inquire', provider.inquire, (report) => (report ? report.status : 'unknown')),
    cancel: observed('cancel', provider.cancel, (answer) => answer),
    refund: observed('refund', provider.refund, (answer) => (answer === 'unknown' ? answer : 'accepted')),
  };
}
