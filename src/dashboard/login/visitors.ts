import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../../domain/gateway-error.ts';
import type { RandomBytes } from '../../domain/id.ts';
import { newSecret } from '../../domain/operator.ts';
import { machinePrincipal } from '../../domain/principal.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import { formOf } from '../../html/html-page.ts';
import { type Login, findLogin } from '../../operations/access/operator-login.ts';
import type { DashboardDeps, DashboardSettings, Visitor } from '../visit.ts';
import { tokenOf } from './session-cookie.ts';

/** Finds the people in front of the browsers. */
export type Visitors = ReturnType<typeof createVisitors>;

export function createVisitors(deps: DashboardDeps, settings: DashboardSettings) {
  const machine = { principals: ENVIRONMENTS.map(machinePrincipal), session: undefined };
  const machineSecret = newSecret(deps.randomBytes);
  /** True if the service has neither keys nor operators and only this machine reaches it: nobody needs to log in. */
  const isOpen = async () => !settings.isExposed && (await deps.gate.isOpen());

  /** The login of a request; undefined in the open service, and for a person who must log in. */
  async function login(request: FastifyRequest): Promise<Login | undefined> {
    const token = tokenOf(settings, request);
    // The script that keeps a page current sends requests, too, but they are no activity of a person.
    const isActive = request.headers['sec-fetch-dest'] !== 'empty';
    return token === undefined ? undefined : findLogin(deps, token, isActive);
  }
  /** The person of a request; undefined if the person must log in first. */
  const personOf = async (request: FastifyRequest) =>
    (await login(request)) ?? ((await isOpen()) ? machine : undefined);

  return {
    login,
    isOpen,
    personOf,
    /** The visitor in an environment; undefined if the person must log in first. Throws GatewayError `forbidden` without a role there. */
    async find(request: FastifyRequest, environment: Environment): Promise<Visitor | undefined> {
      const person = await personOf(request);
      if (!person) return undefined;
      const { principals, session } = person;
      const principal = principals.find((each) => each.environment === environment);
      if (!principal) {
        throw new GatewayError('forbidden', `${principals[0]!.name} has no role in ${environment}.`, {
          suggestion: 'Ask an admin for a role, or open the other environment.',
        });
      }
      const formSecret = session ? tokenOf(settings, request)! : machineSecret;
      const environments = principals.map((each) => each.environment);
      return { principal, formSecret, environments, loginId: session?.id };
    },
  };
}

/** Throws GatewayError `forbidden` for a form without a token of this session. */
export function assertForm(request: FastifyRequest, formSecret: string | undefined): void {
  if (formSecret !== undefined && isFormToken(formOf(request).get('token'), formSecret)) return;
  throw new GatewayError('forbidden', 'This form belongs to another session or is no longer valid.', {
    suggestion: 'Open the page again, and send the form again. Nothing was changed.',
  });
}

const TOKEN_BYTES = 32;

/**
 * Token of a form: a hash of the session's secret under a random mask. The mask makes the token differ in every response, because
 * compressed responses reveal repeated secrets (BREACH, https://www.breachattack.com).
 */
export function newFormToken(secret: string, randomBytes: RandomBytes): string {
  const mask = Buffer.from(randomBytes(TOKEN_BYTES));
  return Buffer.concat([mask, masked(hashOf(secret), mask)]).toString('base64url');
}

export function isFormToken(token: string | null, secret: string): boolean {
  const bytes = Buffer.from(token ?? '', 'base64url');
  if (bytes.length !== 2 * TOKEN_BYTES) return false;
  const found = masked(bytes.subarray(TOKEN_BYTES), bytes.subarray(0, TOKEN_BYTES));
  return timingSafeEqual(found, hashOf(secret));
}

function hashOf(secret: string): Buffer {
  return createHmac('sha256', secret).update('dashboard form').digest();
}

function masked(bytes: Buffer, mask: Buffer): Buffer {
  return Buffer.from(bytes.map((byte, index) => byte ^ mask[index]!));
}
