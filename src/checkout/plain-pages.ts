import { type Html, html } from '../html/html.ts';
import type { Page } from './checkout-layout.ts';
import { heading, introduction } from './checkout-parts.ts';

/** Pages that belong to no session. */
export const PREVIEW: Page = plain('Preview', true, [
  heading('This is a preview'),
  introduction('Nothing was created, and nothing can be paid here.'),
  html`<p>The checkout that opens at this address looks like it, and takes payments, once it is really created.</p>`,
]);

/** The page for every unknown id, well formed or not. */
export const UNKNOWN: Page = plain('Not found', false, [
  heading('There is no checkout here'),
  introduction('The address may be incomplete, or the checkout may be gone.'),
  html`<p>Go back to the shop that you came from and start the checkout again. You have not been charged here.</p>`,
]);

/** Text for a buyer whose request failed. */
export interface Problem {
  title: string;
  text: string;
}

/** `back` is the URL of the checkout that the request was about; `waitSeconds` is 0 if the buyer need not wait. */
export function renderProblem({ title, text }: Problem, back: string | null, waitSeconds: number): Page {
  return plain(title, false, [
    heading(title),
    introduction(text),
    waitSeconds > 0 && html`<p>Try again in ${waitSeconds === 1 ? 'a second' : `${waitSeconds} seconds`}.</p>`,
    back !== null && html`<p><a class="button" href="${back}">Back to the checkout</a></p>`,
  ]);
}

function plain(title: string, testMode: boolean, content: readonly (Html | false)[]): Page {
  return { title, testMode, main: html`<div class="narrow panel">${content}</div>` };
}
