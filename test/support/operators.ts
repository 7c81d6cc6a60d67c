import type { Operator, Roles } from '../../src/domain/operator.ts';
import type { AppDeps } from '../../src/http/app.ts';
import { type LoginDeps, joinService } from '../../src/operations/access/operator-login.ts';
import { inviteOperator } from '../../src/operations/access/operators.ts';
import { createRandomBytes } from '../../src/runtime.ts';
import type { TestService } from './service.ts';

export const PASSWORD = 'correct horse battery';
export const SITE = { rpId: 'localhost', origin: 'http://localhost' };
const FROM = { site: SITE, address: '192.0.2.1' };

/** An operator with a password who has just logged in, and the cookie of the session. */
export interface Person {
  operator: Operator;
  cookie: string;
}

/** Dependencies of the operations on operators and logins. */
export function loginDepsOf({ service }: TestService, needsSecondFactor = false): LoginDeps & AppDeps {
  return { ...(service.deps as AppDeps), randomBytes: createRandomBytes(), needsSecondFactor };
}

export async function invitePerson(test: TestService, email: string, roles: Partial<Roles>) {
  return inviteOperator(loginDepsOf(test), { email, roles: { sandbox: null, production: null, ...roles } });
}

/** Invites a person who joins with {@link PASSWORD}. */
export async function joinPerson(test: TestService, email: string, roles: Partial<Roles>): Promise<Person> {
  const deps = loginDepsOf(test);
  const { operator, secret } = await invitePerson(test, email, roles);
  const token = await joinService(deps, secret, { password: PASSWORD, totp: '', code: '' }, FROM);
  return { operator: (await deps.store.operator(operator.id))!, cookie: `tillway=${token}` };
}

export interface Sent {
  cookie?: string | undefined;
  /** Fields of a form; with it, the request is a POST. */
  form?: Record<string, string>;
  headers?: Record<string, string>;
}

/** Sends a request like a browser, without following redirects. */
export async function visit(url: string, { cookie, form, headers }: Sent = {}): Promise<Response> {
  return fetch(url, {
    redirect: 'manual',
    headers: { accept: 'text/html', ...(cookie !== undefined && { cookie }), ...headers },
    ...(form && { method: 'POST', body: new URLSearchParams(form) }),
  });
}

/** The session cookie that a response sets; undefined if it sets none. */
export function cookieOf(response: Response): string | undefined {
  return response.headers.getSetCookie().map((cookie) => cookie.split(';')[0]!)[0];
}

/** A valid form token for a session. */
export async function formTokenOf(
  { url }: Pick<TestService, 'url'>,
  cookie: string,
  environment = 'sandbox',
): Promise<string> {
  const page = await (await visit(`${url}/dashboard/${environment}/audit`, { cookie })).text();
  const [, token] = /name="token"\s+value="([^"]+)"/.exec(page) ?? [];
  if (token === undefined) throw new Error(page);
  return token;
}
