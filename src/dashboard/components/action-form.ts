import type { GatewayError } from '../../domain/gateway-error.ts';
import { type Html, type HtmlValue, html } from '../../html/html.ts';
import { words } from './figures.ts';
import type { DashboardPage, Visit } from '../visit.ts';

/** A control of a form with its label. `id` is the id of the control. */
export function field(id: string, label: string, control: Html): Html {
  return html`<p class="field"><label for="${id}">${label}</label>${control}</p>`;
}

/** An input with its label; `name` is also its id. */
export function inputField(
  label: string,
  name: string,
  type: string,
  autocomplete: string,
  { isRequired = true, value }: { isRequired?: boolean; value?: string | undefined } = {},
): Html {
  const required = isRequired && html`required`;
  const own = html`name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}" ${required}`;
  return field(name, label, html`<input id="${name}" ${own} />`);
}

/** A list of choices; `none` is the text of the empty choice. */
export function select(name: string, none: string, choices: readonly Choice[], chosen: string | null, id = name): Html {
  const options = choices.map(
    ([value, text]) => html`<option value="${value}" ${value === chosen && html`selected`}>${text}</option>`,
  );
  return html`<select id="${id}" name="${name}">
    <option value="">${none}</option>
    ${options}
  </select>`;
}

export type Choice = readonly [value: string, text: string];

/** Codes of the API as choices. */
export const choicesOf = (codes: readonly string[]): Choice[] => codes.map((code) => [code, words(code)]);

/** A page that says in `text` what an action does; `back` is the address to return to. */
type Confirmation = Record<'text' | 'fields' | 'buttons', HtmlValue> & Record<'title' | 'back', string>;

/** A page with a form that is sent to the address of the page. */
export function confirmationPage({ formToken, here, fault }: Visit, page: Confirmation): DashboardPage {
  const main = html`<div class="confirmation">
    <div class="lead">${page.text}</div>
    ${fault && renderFault(fault)}
    <form method="post" action="${here}">
      ${formToken} ${page.fields}
      <div class="actions">${page.buttons} <a href="${page.back}">Cancel</a></div>
    </form>
  </div>`;
  return { title: page.title, main };
}

/** The error of a rejected form, for the page that shows the form again. */
export function renderFault({ message, details }: GatewayError): Html {
  return html`<div class="panel bad" role="alert">
    <p>${message}</p>
    <p>${details.suggestion}</p>
  </div>`;
}

/** The fields of a form that are not blank, for a schema of the API. */
export function filledFields(form: URLSearchParams, ...names: string[]): Record<string, string> {
  const filled = names.map((name) => [name, form.get(name)?.trim() ?? ''] as const);
  return Object.fromEntries(filled.filter(([, value]) => value !== ''));
}
