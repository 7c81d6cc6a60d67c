import { type Paint, type Style, jsonLineOf } from '../context.ts';
import { brokenAtWords } from '../table.ts';
import { dollars, plain } from '../words.ts';
import { type Forwarded, type Numbered, adviceOn } from './forward.ts';
import type { SigningSecret } from './settings.ts';

/** What listening comes to, line by line: for a person, or as JSON for a program. */
export interface ListenWords {
  /** `secret` where something is forwarded. */
  started(about: { url: string; forwardTo: string | undefined; secret: SigningSecret | undefined }): string;
  event(numbered: Numbered): string;
  forwarded(forwarded: Forwarded): string;
  away(url: string, reason: string): string;
  back(url: string): string;
  otherHistory(url: string): string;
  ended(ending: Ending): string;
}

/** What it came to. */
export interface Ending {
  events: number;
  forwarded: number;
  /** Given up. */
  failed: number;
  /** Queued or under way when it ended. */
  waiting: number;
  /** The command line that forwards again what the target has not taken; null where it has taken everything. */
  again: string | null;
}

export function jsonLines(): ListenWords {
  const line = (object: string, fields: Record<string, unknown>) => `${jsonLineOf({ object, ...fields })}\n`;
  return {
    started({ url, forwardTo = null, secret }) {
      const shown = secret === undefined || secret.from === 'environment' ? null : secret.text;
      return line('listen_started', { url, forwardTo, secret: shown, secretFrom: secret?.from ?? null });
    },
    event: ({ number, event }) => line('event', { number, event }),
    forwarded: ({ event, ...rest }) => line('forward', { eventId: event.id, ...rest }),
    away: (url, reason) => line('service_away', { url, reason }),
    back: (url) => line('service_back', { url }),
    otherHistory: (url) => line('service_replaced', { url }),
    ended: (ending) => line('listen_ended', { ...ending }),
  };
}

const TYPE_WIDTH = 'payment.provider_pending'.length;
const AMOUNT_WIDTH = '9999.99 USD'.length;
/** `#1`, `#999`: where there are more, the columns move. */
const NUMBER_WIDTH = 4;
const INDENT = ' '.repeat('12:00:00'.length + 2);
/** An event on one line; a terminal that has less shows the session on a second one. */
const LINE_WIDTH = 100;
const MAX_TEXT_WIDTH = 100;
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
    started: (about) => tellStart(about, paint),
    event({ number, event: { created, type, data } }) {
      const time = paint('dim', plain(created.slice(11, 19)));
      const name = paint(STYLES[type] ?? 'bold', plain(type).padEnd(TYPE_WIDTH));
      const amount = dollars(data.amount).padStart(AMOUNT_WIDTH);
      const session = plain(data.session_id);
      const { columns = LINE_WIDTH } = paint;
      const rest = columns < LINE_WIDTH ? `\n${INDENT}${paint('dim', session)}` : `  ${session}`;
      return `${dayOf(created)}${time}  ${numberCell(number)}  ${name}  ${amount}${rest}\n`;
    },
    forwarded(forwarded) {
      const { number, attempt, durationMs, failure, nextTryMs } = forwarded;
      const of = paint('dim', numberCell(number));
      if (failure === null) {
        advised.clear();
        const again = attempt === 1 ? '' : `, at try ${attempt}`;
        return `${INDENT}${of}  ${paint('green', `-> 200 in ${durationMs} ms`)}${again}\n`;
      }
      const next = nextTryMs === null ? `given up after ${tries(attempt)}` : `next try in ${nextTryMs / 1000} s`;
      const todo = adviceOn(forwarded);
      const isNews = !advised.has(todo);
      advised.add(todo);
      const margin = `${INDENT}${' '.repeat(NUMBER_WIDTH + 2)}`;
      const why = broken(`-> ${plain(failure)}, ${next}`, paint, 'red', margin);
      const said = `${INDENT}${of}  ${why.slice(margin.length)}`;
      return isNews ? `${said}${broken(todo, paint, 'yellow', margin)}` : said;
    },
    away: (url, reason) =>
      `${broken(`${url} is away: ${plain(reason)}`, paint, 'yellow')}Waiting for it; what happens meanwhile is shown then.\n`,
    back: (url) => `${paint('green', `${url} is back.`)}\n`,
    otherHistory: (url) => broken(`${url} has another database than before: listening from here on.`, paint, 'yellow'),
    ended: ({ events, forwarded, failed, waiting, again }) => {
      const parts = [
        `${events} ${events === 1 ? 'event' : 'events'}`,
        ...(forwarded > 0 ? [`${forwarded} forwarded`] : []),
        ...(failed > 0 ? [`${failed} given up`] : []),
        ...(waiting > 0 ? [`${waiting} not forwarded yet`] : []),
      ];
      const rest =
        again === null ? '' : `Forward them again, and what came after the first of them, with:\n  ${plain(again)}\n`;
      // The terminal has written ^C on this line.
      return `\n${parts.join(', ')}.\n${rest}`;
    },
  };
}

function numberCell(number: number): string {
  return `#${number}`.padEnd(NUMBER_WIDTH);
}

/** Whole lines, no wider than the terminal where words allow it. */
function broken(text: string, paint: Paint, style: Style, indent = ''): string {
  const width = Math.min(paint.columns ?? MAX_TEXT_WIDTH, MAX_TEXT_WIDTH) - indent.length;
  const lines = brokenAtWords(text, width);
  return lines.map((line) => `${indent}${paint(style, line)}\n`).join('');
}

const KEEP = {
  made: 'Have your server verify with that secret. To keep it over restarts, give it as --secret, or as WEBHOOK_SECRET.',
  option: 'Have your server verify with that secret.',
  environment: 'Have your server verify with that secret.',
};

function tellStart({ url, forwardTo, secret }: Parameters<ListenWords['started']>[0], paint: Paint): string {
  if (forwardTo === undefined || !secret) return `Listening to ${paint('bold', url)}. Ctrl-C ends.\n\n`;
  const signed =
    secret.from === 'environment'
      ? `the secret in ${paint('bold', 'WEBHOOK_SECRET')} of this shell`
      : paint('bold', secret.text);
  return [
    `Forwarding the events of ${paint('bold', url)} to ${paint('bold', forwardTo)}. Ctrl-C ends.\n`,
    `They are signed with ${signed}\n`,
    broken(`${KEEP[secret.from]} No endpoint is registered.`, paint, 'dim'),
    '\n',
  ].join('');
}

function tries(count: number): string {
  return count === 1 ? 'one try' : `${count} tries`;
}
