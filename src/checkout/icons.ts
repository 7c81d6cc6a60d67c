import { Html } from '../html/html.ts';
import type { RouteKind } from '../domain/route.ts';

// Drawn on a 24 by 24 grid, in the colour of the text. Each has a text next to it, so screen readers skip it.
const DRAWINGS = {
  card: '<rect x="3" y="5.5" width="18" height="13" rx="2.5"/><path d="M3 10h18M6.5 14.5h4"/>',
  wallet:
    '<path d="M17.5 8V5H6a2.5 2.5 0 0 0-2.5 2.5A.5.5 0 0 0 4 8M3.5 7.5V17A2.5 2.5 0 0 0 6 19.5h14.5V8H4"/><path d="M16.5 13.75h.01"/>',
  local: '<path d="M3.5 10 12 4.5l8.5 5.5zM5 19.5h14M7 10v6.5M12 10v6.5M17 10v6.5"/>',
  check: '<path d="m6 12.5 4 4 8-9"/>',
  clock: '<circle cx="12" cy="12" r="8"/><path d="M12 7.5V12l3 2"/>',
  stop: '<path d="M12 5.5v8.5M12 18.5h.01"/>',
  lock: '<rect x="5.5" y="10.5" width="13" height="9" rx="2"/><path d="M8.5 10.5V8a3.5 3.5 0 0 1 7 0v2.5"/>',
} as const satisfies Record<RouteKind | 'check' | 'clock' | 'stop' | 'lock', string>;

export type IconName = keyof typeof DRAWINGS;

export function icon(name: IconName): Html {
  return new Html(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${DRAWINGS[name]}</svg>`);
}

/** A large icon over a heading. */
export function sign(name: IconName, mood: 'good' | 'calm' | 'bad'): Html {
  return new Html(`<span class="sign ${mood}">${icon(name).markup}</span>`);
}
