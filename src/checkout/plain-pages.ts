import { type Html, html } from '../html/html.ts';
import type { Page } from './layout.ts';
import { heading, lede } from './parts.ts';

/** Pages that belong to no session. */
export const PREVIEW: Page = plain('Preview', true, [
  heading('This is a preview'),
  lede('Nothing was created, and nothing can be paid here.'),
  html`<p>The checkout that opens at this address looks like it, and takes payments, once it is really created.</p>`,
]);

/** The same for every unknown id, whatever it looks like. */
export const UNKNOWN: Page = plain('Not found', false, [
  heading('There is no checkout here'),
  lede('The address may be incomplete, or the checkout may be gone.'),
  html`<p>Go back to the shop that you came from and start the checkout again. You have not been charged here.</p>`,
]);

/** What a buyer is told of a request that failed. */
export interface Problem {
  title: string;
  text: string;
}

const PROBLEMS = {
  malformed: {
    title: 'That did not work',
    text: 'The form did not arrive as this page sends it. Nothing was started, and you have not been charged.',
  },
  refused: {
    title: 'That was not accepted',
    text: 'The request came from another site. Nothing was started, and you have not been charged.',
  },
  too_large: { title: 'That did not work', text: 'The form is too large. You have not been charged.' },
  wrong_type: {
    title: 'That did not work',
    text: 'The form did not arrive as this page sends it. You have not been charged.',
  },
  too_many: {
    title: 'Please wait a moment',
    text: 'There were too many requests in a short time. If you were paying, open the checkout again to see how the payment stands.',
  },
  too_many_payments: {
    title: 'Please wait a moment',
    text: 'There were too many tries in a short time. Nothing was started by this one. If you tried before, open the checkout again to see how the payment stands.',
  },
  unavailable: {
    title: 'Please try again in a moment',
    text: 'The checkout cannot be reached just now. If you were paying, open it again to see how the payment stands.',
  },
  broken: {
    title: 'Something failed on our side',
    text: 'If you were paying, open the checkout again to see how the payment stands before you pay once more.',
  },
} as const satisfies Record<string, Problem>;

export type ProblemName = keyof typeof PROBLEMS;

export function problemOf(name: ProblemName): Problem {
  return PROBLEMS[name];
}

/** `back` leads to the checkout that the request was about; `waitSeconds` is 0 where there is nothing to wait for. */
export function renderProblem({ title, text }: Problem, back: string | null, waitSeconds: number): Page {
  return plain(title, false, [
    heading(title),
    lede(text),
    waitSeconds > 0 && html`<p>Try again in ${waitSeconds === 1 ? 'a second' : `${waitSeconds} seconds`}.</p>`,
    back !== null && html`<p><a class="button" href="${back}">Back to the checkout</a></p>`,
  ]);
}

function plain(title: string, testMode: boolean, content: readonly (Html | false)[]): Page {
  return { title, testMode, main: html`<div class="narrow panel">${content}</div>` };
}
