import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { type Plot, type PlotView, renderPlot } from '../../src/dashboard/plots/plot-frame.ts';
import { reasonsPlot, routesPlot, stagesPlot } from '../../src/dashboard/plots/row-plots.ts';
import { paidPlot, successPlot } from '../../src/dashboard/plots/time-plots.ts';
import { wilsonInterval } from '../../src/domain/statistics.ts';
import { netOf, usualRange } from '../../src/operations/sales-figures.ts';
import type { SalesSum } from '../../src/store/tables/sales-table.ts';
import { html } from '../../src/html/html.ts';
import type { Overview } from '../../src/operations/read-overview.ts';
import { forAll } from '../support/for-all.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2026, 2, 1);
const EVIL = `<script>alert('x')</script>"&=1+1`;
const VIEW: PlotView = {
  zone: 'Europe/Berlin',
  step: 'hour',
  showsMoney: true,
  nameOf: (id) => `Route ${id}`,
};
const KINDS = [
  'created',
  'started',
  'paid',
  'refunded',
  'expired',
  'failed/route/timed_out',
  'failed/issuer/declined',
  'failed/gateway/handoff_refused',
  'failed/unknown/unknown',
  `failed/route/${EVIL.replaceAll('/', '|')}`,
];

function sale(fields: Partial<SalesSum>): SalesSum {
  return {
    environment: 'sandbox',
    time: START,
    route: 'card',
    kind: 'paid',
    count: 1,
    amount: 4999,
    buyerFee: 0,
    gatewayFee: 145,
    cost: 95,
    ...fields,
  };
}

function stepsOf(sales: readonly (readonly SalesSum[])[]): Overview['steps'] {
  return sales.map((own, index) => ({
    time: START + index * HOUR,
    sales: [...own],
    before: [...(sales[index - 1] ?? [])],
  }));
}

function plotsOf(steps: Overview['steps'], view = VIEW): Plot[] {
  const sales = steps.flatMap((step) => step.sales);
  const usual = usualRange(steps.map(() => ({ paid: 9, failed: 1 })));
  return [
    paidPlot(steps, view),
    successPlot(steps, usual, view),
    routesPlot(sales, [], view),
    reasonsPlot(sales, view),
    stagesPlot(sales, view),
  ];
}

const anySale = fc
  .record({
    route: fc.constantFrom('card', 'wallet', EVIL, ...Array.from({ length: 12 }, (_, index) => `route ${index}`)),
    kind: fc.constantFrom(...KINDS),
    count: fc.integer({ min: -2, max: 1_000_000 }),
    amount: fc.integer({ min: -5000, max: 10 ** 12 }),
  })
  .map(sale);
const anySteps = fc
  .constantFrom(0, 1, 3, 24, 400)
  .chain((count) =>
    fc
      .array(fc.array(anySale, { maxLength: count > 100 ? 2 : 8 }), { minLength: count, maxLength: count })
      .map(stepsOf),
  );

/** Coordinates of the shapes of a drawing that are outside of its view box, and numbers that are not finite. */
function faultsOf(markup: string): string[] {
  const [, width, height] = /viewBox="0 0 (\d+) ([\d.]+)"/.exec(markup)!.map(Number);
  const faults: string[] = [];
  if (/NaN|Infinity|undefined/.test(markup)) faults.push('not a number');
  let top = 0;
  for (const [element, name, attributes = ''] of markup.matchAll(/<(\w+)((?: [\w:-]+="[^"]*")*)>/g)) {
    const at = (key: string) => Number(new RegExp(` ${key}="([^"]*)"`).exec(attributes)?.[1] ?? 0);
    if (name === 'g') top = Number(/translate\(\S+ (\S+)\)/.exec(attributes)?.[1] ?? 0);
    if (/ (?:width|height|r)="-/.test(attributes)) faults.push(element);
    if (['pattern', 'svg', 'path', 'desc', 'title', 'g'].includes(name!)) continue;
    const x = [at('x'), at('x') + at('width'), at('x1'), at('x2'), at('cx')];
    const y = [at('y'), at('y') + at('height'), at('y1'), at('y2'), at('cy')].map((each) => each + top);
    if (x.some((each) => each < -0.1 || each > width! + 0.1)) faults.push(element);
    if (y.some((each) => each < -0.1 || each > height! + 0.1)) faults.push(element);
  }
  for (const [, d = ''] of markup.matchAll(/<path class="\w+" d="([^"]*)"/g)) {
    for (const [, x, y] of d.matchAll(/[ML]([-\d.]+),([-\d.]+)/g))
      if (!(Number(x) >= 0 && Number(x) <= width! && Number(y) >= 0 && Number(y) <= height!)) faults.push(d);
  }
  return faults;
}

function drawingOf(plot: Plot, view = VIEW): string {
  const { markup } = renderPlot(plot, view, 'note');
  return markup.slice(markup.indexOf('<svg'), markup.indexOf('</svg>'));
}

function columnOf({ numbers }: Plot, name: string) {
  return numbers.map((cells) => cells.find((one) => one.name === name)!.value);
}

function sumOf(values: readonly unknown[]): number {
  return values.reduce<number>((sum, value) => sum + Number(value), 0);
}

describe('plots', () => {
  it('draw any sums within their view boxes', () => {
    forAll(60, anySteps, fc.boolean(), (steps, showsMoney) => {
      for (const plot of plotsOf(steps, { ...VIEW, showsMoney }))
        assert.deepEqual(faultsOf(drawingOf(plot)), [], plot.id);
    });
  });

  it('the check of the drawings finds a coordinate outside, and NaN', () => {
    const plot = paidPlot(stepsOf([[sale({})]]), VIEW);
    assert.deepEqual(faultsOf(drawingOf(plot)), []);
    for (const fault of [
      html`<rect x="500" y="1"></rect>`,
      html`<path class="rate" d="M1,900"></path>`,
      html`<text x="NaN"></text>`,
    ])
      assert.notDeepEqual(faultsOf(drawingOf({ ...plot, drawing: [plot.drawing, fault] })), []);
  });

  it('have tables that equal the sums', () => {
    forAll(60, anySteps, (steps) => {
      const sales = steps.flatMap((step) => step.sales);
      const sum = (kind: RegExp, unit: 'count' | 'amount' = 'count') =>
        sumOf(sales.filter((one) => kind.test(one.kind)).map((one) => one[unit]));
      const [paid, success, routes, , stages] = plotsOf(steps) as [Plot, Plot, Plot, Plot, Plot];
      assert.equal(paid.numbers.length, steps.length);
      assert.equal(sumOf(columnOf(paid, 'Payments')), sum(/^paid$/));
      assert.equal(sumOf(columnOf(paid, 'Paid')), sum(/^paid$/, 'amount'));
      assert.equal(
        sumOf(columnOf(paid, 'Paid before')),
        sumOf(steps.flatMap(({ before }) => before.filter(({ kind }) => kind === 'paid').map(({ amount }) => amount))),
      );
      const ofStep = steps.map(({ sales: own }) =>
        Math.max(0, sumOf(own.filter(({ kind }) => kind === 'paid').map(({ count }) => count))),
      );
      assert.deepEqual(columnOf(success, 'Paid'), ofStep);
      const inRoutes = sales.filter(({ route }) => route !== '');
      assert.equal(
        sumOf(columnOf(routes, 'Attempts')),
        sumOf(inRoutes.filter(({ kind }) => kind === 'started').map(({ count }) => count)),
      );
      assert.equal(sumOf(columnOf(routes, 'Lost')), sum(/^failed\/(?!buyer)/, 'amount'));
      assert.deepEqual(columnOf(stages, 'In all'), [sum(/^created$/), sum(/^started$/), sum(/^paid$/)]);
    });
    const failed = [
      sale({ kind: 'failed/route/timed_out', count: 3 }),
      sale({ kind: 'failed/route/timed_out', count: 2 }),
      sale({ kind: 'failed/buyer/abandoned', count: 9 }),
    ];
    assert.deepEqual(columnOf(reasonsPlot(failed, VIEW), 'Failed'), [9, 5]);
  });

  it('leave failures by buyers out of the success rate, and count declines of banks', () => {
    const steps = stepsOf([
      [
        sale({ count: 8 }),
        sale({ kind: 'failed/route/timed_out', count: 2 }),
        sale({ kind: 'failed/issuer/declined', count: 6 }),
        sale({ kind: 'failed/buyer/abandoned', count: 9 }),
      ],
    ]);
    assert.deepEqual(columnOf(successPlot(steps, null, VIEW), 'Success'), [0.5]);
  });

  it('show the interval of a step whose attempts all failed, and none of a step without attempts', () => {
    const plot = successPlot(stepsOf([[sale({ kind: 'failed/route/timed_out' })], []]), null, VIEW);
    assert.deepEqual(columnOf(plot, 'At most'), [wilsonInterval(0, 1).high, null]);
  });

  it('name a route whose success is below that of the period before', () => {
    const before = [sale({ count: 980 }), sale({ kind: 'failed/route/timed_out', count: 20 })];
    for (const [failed, isWorse] of [
      [1, false],
      [30, true],
    ] as const) {
      const sales = [
        sale({ kind: 'started' }),
        sale({ count: 70 }),
        sale({ kind: 'failed/route/timed_out', count: failed }),
      ];
      const { markup } = renderPlot(routesPlot(sales, before, VIEW), VIEW, 'note');
      assert.equal(/worse: 98% before, lost/.test(markup), isWorse, markup);
    }
  });

  it('draw no success where no attempt ended', () => {
    const [some, none] = [[sale({ count: 4 })], []];
    const drawn = renderPlot(successPlot(stepsOf([some, some, none, some, some]), null, VIEW), VIEW, 'note').markup;
    const [, path = ''] = /class="rate" d="([^"]*)"/.exec(drawn) ?? [];
    assert.equal(path.split('M').length - 1, 2, path);
  });

  it('show no money to roles that see counts only', () => {
    const view = { ...VIEW, showsMoney: false };
    for (const plot of plotsOf(stepsOf([KINDS.map((kind) => sale({ kind, amount: 987_654 }))]), view)) {
      const text = renderPlot(plot, view, 'note').markup;
      assert.ok(!/9,?876|\$/.test(text), plot.id);
    }
  });

  it('write untrusted names as text', () => {
    const view = { ...VIEW, nameOf: () => EVIL };
    for (const plot of plotsOf(stepsOf([KINDS.map((kind) => sale({ kind }))]), view))
      assert.ok(!renderPlot(plot, view, 'note').markup.includes('<script'), plot.id);
  });

  it('the net of sales is the share of the merchant, less its share of the refunds and reversed money', () => {
    const sales = [
      sale({ amount: 5000, gatewayFee: 145 }),
      sale({ kind: 'refunded', amount: 1000, gatewayFee: 29 }),
      sale({ kind: 'reversed', amount: 700, gatewayFee: 0 }),
      sale({ kind: 'started' }),
    ];
    assert.equal(netOf(sales), 5000 - 145 - (1000 - 29) - 700);
  });
});
