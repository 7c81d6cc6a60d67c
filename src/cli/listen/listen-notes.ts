import { type Paint, type Style } from '../command-context.ts';
import { brokenAtWords } from '../table.ts';
import { dollars, plain } from '../cells.ts';
import { type Forwarded, type Numbered, adviceOn } from './forwarder.ts';
import type { SigningSecret } from './listen-options.ts';

/** The number of events, and the command that forwards the rest again. */
interface Ending {
  events: number;
  forwarded: number;
  /** Events whose last attempt failed. */
  failed: number;
  /** Events that were queued or in flight at the end. */
  waiting: number;
  /** The command line that forwards the events that the target has not received; null if there are none. */
  again: string | null;
}

interface Start {
  url: string;
  forwardTo: string | null;
  /** Signing secret to show; null if nothing is forwarded or the secret is from the environment. */
  secret: string | null;
  secretFrom: SigningSecret['from'] | null;
}

/** One line of the output: with --json the document, else its text. */
export type Note =
  | ({ object: 'listen_started' } & Start)
  | ({ object: 'event' } & Numbered)
  | ({ object: 'forward'; eventId: string } & Omit<Forwarded, 'event'>)
  | { object: 'service_away'; url: string; reason: string }
  | { object: 'service_back' | 'service_replaced'; url: string }
  | ({ object: 'listen_ended' } & Ending);

const TYPE_WIDTH = 'payment.provider_pending'.length;
const AMOUNT_WIDTH = '9999.99 USD'.length;
/** `#1`, `#999`; longer numbers move the columns. */
const NUMBER_WIDTH = 4;
const INDENT = ' '.repeat('12:00:00'.length + 2);
/** An event fits one line of that width; on a narrower terminal the session is on a second one. */
const LINE_WIDTH = 100;
const MAX_TEXT_WIDTH = 100;
const STYLES: Record<string, Style> = {
  'payment.paid': 'green',
  'payment.failed': 'red',
  'payment.provider_pending': 'yellow',
};

/** Returns a function that formats notes. It prints the day only when the day changes, and each advice only once. */
export function noteTexts(paint: Paint): (note: Note) => string {
  let day = '';
  const advised = new Set<string>();

  /** Times are those of the service, in UTC. */
  function eventText({ number, event: { created, type, data } }: Numbered): string {
    const heading =
      created.startsWith(day) && day !== '' ? '' : `${paint('dim', `${plain(created.slice(0, 10))} UTC`)}\n`;
    day = created.slice(0, 10);
    const time = paint('dim', plain(created.slice(11, 19)));
    const name = paint(STYLES[type] ?? 'bold', plain(type).padEnd(TYPE_WIDTH));
    const amount = dollars(data.amount).padStart(AMOUNT_WIDTH);
    const session = plain(data.session_id);
    const isNarrow = (paint.columns ?? LINE_WIDTH) < LINE_WIDTH;
    const rest = isNarrow ? `\n${INDENT}${paint('dim', session)}` : `  ${session}`;
    return `${heading}${time}  ${numberCell(number)}  ${name}  ${amount}${rest}\n`;
  }

  function forwardText({ number, attempt, durationMs, status, failure, nextTryMs }: Omit<Forwarded, 'event'>): string {
    const start = `${INDENT}${paint('dim', numberCell(number))}  `;
    if (failure === null) {
      advised.clear();
      return `${start}${paint('green', `-> 200 in ${durationMs} ms`)}${attempt === 1 ? '' : `, at try ${attempt}`}\n`;
    }
    const tries = attempt === 1 ? 'one try' : `${attempt} tries`;
    const next = nextTryMs === null ? `given up after ${tries}` : `next try in ${nextTryMs / 1000} s`;
    const todo = adviceOn({ status, failure });
    const margin = `${INDENT}${' '.repeat(NUMBER_WIDTH + 2)}`;
    const why = broken(`-> ${plain(failure)}, ${next}`, paint, 'red', margin).slice(margin.length);
    const advice = advised.has(todo) ? '' : broken(todo, paint, 'yellow', margin);
    advised.add(todo);
    return `${start}${why}${advice}`;
  }

  return (note) => {
    switch (note.object) {
      case 'listen_started':
        return startText(note, paint);
      case 'event':
        return eventText(note);
      case 'forward':
        return forwardText(note);
      case 'service_away':
        return `${broken(`${note.url} is unreachable: ${plain(note.reason)}`, paint, 'yellow')}Waiting for it; the missed events are shown afterwards.\n`;
      case 'service_back':
        return `${paint('green', `${note.url} is back.`)}\n`;
      case 'service_replaced':
        return broken(`${note.url} has another database than before: listening from here on.`, paint, 'yellow');
      case 'listen_ended':
        return endText(note);
    }
  };
}

function endText({ events, forwarded, failed, waiting, again }: Ending): string {
  const parts = [
    `${events} ${events === 1 ? 'event' : 'events'}`,
    ...(forwarded > 0 ? [`${forwarded} forwarded`] : []),
    ...(failed > 0 ? [`${failed} given up`] : []),
    ...(waiting > 0 ? [`${waiting} not forwarded yet`] : []),
  ];
  const advice = 'Forward them again, and what came after the first of them, with:';
  // The line starts behind the ^C of the terminal.
  return `\n${parts.join(', ')}.\n${again === null ? '' : `${advice}\n  ${plain(again)}\n`}`;
}

function numberCell(number: number): string {
  return `#${number}`.padEnd(NUMBER_WIDTH);
}

/** Whole lines, no wider than the terminal if words allow it. */
function broken(text: string, paint: Paint, style: Style, indent = ''): string {
  const width = Math.min(paint.columns ?? MAX_TEXT_WIDTH, MAX_TEXT_WIDTH) - indent.length;
  const lines = brokenAtWords(text, width);
  return lines.map((line) => `${indent}${paint(style, line)}\n`).join('');
}

function startText({ url, forwardTo, secret, secretFrom }: Start, paint: Paint): string {
  if (forwardTo === null) return `Listening to ${paint('bold', url)}. Ctrl-C ends.\n\n`;
  const signed =
    secret === null ? `the secret in ${paint('bold', 'WEBHOOK_SECRET')} of this shell` : paint('bold', secret);
  const keep = 'To keep it over restarts, give it as --secret, or as WEBHOOK_SECRET. ';
  const advice = `Have your server verify with that secret. ${secretFrom === 'made' ? keep : ''}No endpoint is registered.`;
  return [
    `Forwarding the events of ${paint('bold', url)} to ${paint('bold', forwardTo)}. Ctrl-C ends.\n`,
    `They are signed with ${signed}\n`,
    broken(advice, paint, 'dim'),
    '\n',
  ].join('');
}
