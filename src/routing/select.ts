import type { Environment, Route, RouteHealth, RouteKind } from '../domain/route.ts';

/** What a route is chosen by. */
export interface Wish {
  environment: Environment;
  preferredRoute?: RouteKind | undefined;
}

const HEALTH_ORDER: Record<RouteHealth, number> = { live: 0, degraded: 1, standby: 2 };
const PPM = 1_000_000;
// A point of success is worth four of cost: a lost sale costs the whole margin, a fee only its share.
const SUCCESS_PER_COST = 4;

/** 0 to 100 with one decimal, higher is better: the configured success rate less what buyer and provider charge. */
export function scoreOf(route: Route): number {
  const cost = route.buyerFeeRate + route.providerCostRate;
  const points = ((route.successRate - cost / SUCCESS_PER_COST) / PPM) * 100;
  return Math.round(Math.min(100, Math.max(0, points)) * 10) / 10;
}

/** Whether a route can take a payment now. */
export function isUsable(route: Route): boolean {
  return route.health !== 'standby';
}

/**
 * The routes of an environment, best first: the preferred kind before the others where it has a usable route, then by
 * health, then by score. The same routes and wish give the same order, always.
 */
export function rankRoutes(routes: readonly Route[], wish: Wish): readonly Route[] {
  let ranked = rankings.get(routes);
  if (!ranked) rankings.set(routes, (ranked = new Map()));
  const key = `${wish.environment} ${wish.preferredRoute}`;
  let order = ranked.get(key);
  if (!order) ranked.set(key, (order = rank(routes, wish)));
  return order;
}

// A catalogue is never changed in place, and has a handful of orders.
const rankings = new WeakMap<readonly Route[], Map<string, readonly Route[]>>();

function rank(routes: readonly Route[], { environment, preferredRoute }: Wish): Route[] {
  const kindHonoured = (route: Route) => (route.kind === preferredRoute ? 0 : 1);
  return routes
    .filter((route) => route.environment === environment)
    .toSorted(
      (a, b) =>
        Number(isUsable(b)) - Number(isUsable(a)) ||
        kindHonoured(a) - kindHonoured(b) ||
        HEALTH_ORDER[a.health] - HEALTH_ORDER[b.health] ||
        scoreOf(b) - scoreOf(a) ||
        (a.id < b.id ? -1 : 1),
    );
}

/** The best route of each kind that can take a payment now, best first: what a buyer chooses from. */
export function waysToPay(routes: readonly Route[], wish: Wish): Route[] {
  const best = new Map<RouteKind, Route>();
  for (const route of rankRoutes(routes, wish)) {
    if (isUsable(route) && !best.has(route.kind)) best.set(route.kind, route);
  }
  return [...best.values()];
}
