import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RandomBytes } from '../domain/id.ts';
import type { GatewayError } from '../domain/gateway-error.ts';
import type { Principal } from '../domain/principal.ts';
import type { Environment } from '../domain/route.ts';
import type { Html } from '../html/html.ts';
import type { Gate } from '../operations/access/key-gate.ts';
import type { Deps } from '../operations/deps.ts';

/** Settings of the dashboard. */
export interface DashboardSettings {
  /** Public URL; on any other host name the dashboard is not found. */
  url: string;
  /** True if other machines can reach it: it is then never open, and passwords need a second factor. */
  isExposed: boolean;
  /** False if the URL is not encrypted and not of this machine; the dashboard is then refused. */
  isSafe: boolean;
}

/** Dependencies of the dashboard. */
export interface DashboardDeps extends Deps {
  gate: Gate;
  /** Undefined if this app has no dashboard. */
  dashboard: DashboardSettings | undefined;
  /** Cryptographically secure random bytes. */
  randomBytes: RandomBytes;
  /** True if ALLOW_UNAUTHENTICATED is on. */
  allowsUnauthenticated: boolean;
}

/** The person in front of the browser. */
export interface Visitor {
  principal: Principal;
  /** Secret of the visitor's session, from which the tokens of its forms derive. */
  formSecret: string;
  /** Environments in which the visitor has a role. */
  environments: readonly Environment[];
  /** Id of the session; undefined in the open service. */
  loginId: string | undefined;
}

/** One request of a visitor for a page of an environment. */
export interface Visit {
  request: FastifyRequest;
  reply: FastifyReply;
  /** Dependencies restricted to the environment; `caller` is the visitor's principal. */
  deps: DashboardDeps;
  /** `deps` after another check of the session; undefined if it has ended. */
  renewedDeps(): Promise<DashboardDeps | undefined>;
  visitor: Visitor;
  environment: Environment;
  query: URLSearchParams;
  /** Fields of the form; empty for a GET. */
  form: URLSearchParams;
  /** Why the form was refused, on the page that shows it again. */
  fault?: GatewayError;
  /** Path and query of this page. */
  here: string;
  param(name: string): string;
  /** Address of a page of this environment, such as `payments/chk_...`. */
  path(page: string): string;
  /** Hidden field that every form with method POST must have. */
  formToken: Html;
}

/** Content of a page in the frame of the dashboard. */
export interface DashboardPage {
  title: string;
  main: Html;
  /** Further elements of the head, such as scripts. */
  head?: Html;
  /** True if the script keeps the page current. */
  isLive?: boolean;
}

/**
 * A page, the address of the next page, or the stream of a download. A handler cannot return the reply of Fastify, because the reply is
 * a promise: `await` would wait for its end and return undefined.
 */
export type Answer = DashboardPage | { goTo: string } | { download: Readable };
export type VisitHandler = (visit: Visit) => Promise<Answer>;
export type FormPage = (visit: Visit) => Promise<DashboardPage>;

/**
 * Adds pages of an environment. `path` follows `/dashboard/{environment}`, such as `/payments/:id`. `action` is the operation id in the
 * API of what a form does, such as `createRefund`, for the audit. `form` is the page of the form, which is shown again if it is refused.
 */
export interface PageRoutes {
  get(path: string, handler: VisitHandler): void;
  post(path: string, action: string, handler: VisitHandler, form?: FormPage): void;
}
