import type { WebhookEvent } from '../../../sdk/src/index.ts';
import type { Paint, Style } from '../context.ts';
import { type Forwarded, adviceOn } from './forward.ts';
import { dollars, plain } from '../words.ts';

/** What listening comes to, line by line: for a person, or as JSON for a program. */
export interface ListenWords {
  started(about: { url: string; forwardTo: string | undefined; secret: string | undefined }): string;
  event(event: WebhookEvent): string;
  forwarded(forwarded: Forwarded): string;
  away(url: string, reason: string): string;
  back(url: string): string;
  otherHistory(url: string): string;
  ended(counts: Counts): string;
}

export interface Counts {
  events: number;
  forwarded: number;
  /** Given up. */
  failed: number;
  /** Queued or under way when it ended. */
  waiting: number;
}

export function jsonLines(): ListenWords {
  const line = (object: string, fields: Record<string, unknown>) => `${JSON.stringify({ object, ...fields })}\n`;
  return {
    started: ({ url, forwardTo = null, secret = null }) => line('listen_started', { url, forwardTo, secret }),
    event: (event) => line('event', { event }),
    forwarded: ({ event, ...rest }) => line('forward', { eventId: event.id, ...rest }),
    away: (url, reason) => line('service_away', { url, reason }),
    back: (url) => line('service_back', { url }),
    otherHistory: (url) => line('service_replaced', { url }),
    ended: (counts) => line('listen_ended', { ...counts }),
  };
}

const TYPE_WIDTH = 'payment.provider_pending'.length;
const AMOUNT_WIDTH = '9999.99 USD'.length;
const INDENT = ' '.repeat('12:00:00'.length + 2);
const STYLES: Record<string, Style> = {
  'payment.paid': 'green',
  'payment.failed': 'red',
  'payment.provider_pending': 'yellow',
};

export function words(paint: Paint): ListenWords {
  let day = '';
  const advised = new Set<string>();

  /** Times are those of the service, in UTC; the day stands on a line of its own where it changes. */
  function dayOf(created: string): string {
    const is = created.slice(0, 10);
    if (is === day) return '';
    day = is;
    return `${paint('dim', `${plain(is)} UTC`)}\n`;
  }

  return {
    started: tellStart(paint),
    event({ created, type, data }) {
      const time = paint('dim', plain(created.slice(11, 19)));
      const name = paint(STYLES[type] ?? 'bold', plain(type).padEnd(TYPE_WIDTH));
      const amount = dollars(data.amount).padStart(AMOUNT_WIDTH);
      return `${dayOf(created)}${time}  ${name}  ${amount}  ${plain(data.session_id)}\n`;
    },
    forwarded(forwarded) {
      const { event, attempt, durationMs, failure, nextTryMs } = forwarded;
      const about = paint('dim', `${plain(event.type)} of ${plain(event.data.session_id)}`);
      if (failure === null) {
        advised.clear();
        const again = attempt === 1 ? '' : `, at try ${attempt}`;
        return `${INDENT}${paint('green', `-> 200 in ${durationMs} ms`)}${again}  ${about}\n`;
      }
      const next = nextTryMs === null ? `given up after ${tries(attempt)}` : `next try in ${nextTryMs / 1000} s`;
      const todo = adviceOn(forwarded);
      const isNews = !advised.has(todo);
      advised.add(todo);
      const said = `${INDENT}${paint('red', `-> ${plain(failure)}`)}, ${next}  ${about}\n`;
      return isNews ? `${said}${INDENT}   ${paint('yellow', todo)}\n` : said;
    },
    away: (url, reason) =>
      `${paint('yellow', `${url} is away: ${plain(reason)}`)}\nWaiting for it; what happens meanwhile is shown then.\n`,
    back: (url) => `${paint('green', `${url} is back.`)}\n`,
    otherHistory: (url) => `${paint('yellow', `${url} has another database than before: listening from here on.`)}\n`,
    ended: ({ events, forwarded, failed, waiting }) => {
      const parts = [
        `${events} ${events === 1 ? 'event' : 'events'}`,
        ...(forwarded > 0 ? [`${forwarded} forwarded`] : []),
        ...(failed > 0 ? [`${failed} given up`] : []),
        ...(waiting > 0 ? [`${waiting} not forwarded yet`] : []),
      ];
      // The terminal has written ^C on this line.
      return `\n${parts.join(', ')}.\n`;
    },
  };
}

function tellStart(paint: Paint): ListenWords['started'] {
  return ({ url, forwardTo, secret }) => {
    const lines =
      forwardTo === undefined
        ? [`Listening to ${paint('bold', url)}. Ctrl-C ends.`, '']
        : [
            `Forwarding the events of ${paint('bold', url)} to ${paint('bold', forwardTo)}. Ctrl-C ends.`,
            `They are signed with ${paint('bold', secret ?? '')}`,
            paint(
              'dim',
              'Have your server verify with that secret. No endpoint is registered; it ends with this command.',
            ),
            '',
          ];
    return lines.map((line) => `${line}\n`).join('');
  };
}

function tries(count: number): string {
  return count === 1 ? 'one try' : `${count} tries`;
}
