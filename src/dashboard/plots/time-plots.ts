import { scaleBand, scaleLinear } from 'd3-scale';
import { area, line } from 'd3-shape';
import { outcomesOf, shareOfPaid, totalOf } from '../../operations/sales-figures.ts';
import { type ShareInterval, wilsonInterval } from '../../domain/statistics.ts';
import type { Html } from '../../html/html.ts';
import type { Overview } from '../../operations/read-overview.ts';
import { percentText, shortCount } from '../components/figures.ts';
import { timeText } from '../components/time.ts';
import { type Plot, type PlotView, WIDTH, cell, label, svg } from './plot-frame.ts';

const HEIGHT = 236;
const [TOP, BOTTOM, LEFT, RIGHT] = [30, HEIGHT - 28, 56, WIDTH - 8];
const MOST_LABELS = 6;

type Steps = Overview['steps'];

/** Axes with one band per step. `at` is the middle of a band. */
function timeAxes(steps: Steps, domain: number[], text: (value: number) => string, { zone, step }: PlotView) {
  const x = scaleBand<number>([...steps.keys()], [LEFT, RIGHT]).paddingInner(0.2);
  const y = scaleLinear(domain, [BOTTOM, TOP]).nice(4);
  const at = (index: number) => x(index)! + x.bandwidth() / 2;
  const stride = Math.ceil(steps.length / MOST_LABELS);
  const levels = y.ticks(4).map((value) => {
    const grid = { class: 'grid', x1: LEFT, x2: RIGHT, y1: y(value), y2: y(value) };
    return [svg('line', grid), label(LEFT - 6, y(value) + 4, text(value), 'end')];
  });
  const times = steps.map(({ time }, index) => {
    if (index % stride !== 0) return false;
    const name = timeText(time, zone, step === 'hour' ? 'shortHour' : 'shortDay');
    return label(Math.min(at(index), RIGHT - 26), HEIGHT - 8, name, 'middle');
  });
  return { x, y, at, drawing: [levels, times] };
}

/** An entry of the key above a drawing: a sample of the mark, and its meaning. */
function keyEntry(x: number, kind: string, text: string): Html {
  const transform = `translate(${x} 0)`;
  return svg('g', { transform }, svg('rect', { class: kind, y: 4, width: 20, height: 12 }), label(26, 15, text));
}

/** Bars by step, and the previous period as a line. */
export function paidPlot(steps: Steps, view: PlotView): Plot {
  const { step, showsMoney } = view;
  const totals = steps.map(({ sales, before }) => [totalOf(sales, 'paid'), totalOf(before, 'paid')] as const);
  // Corrections can make a sum negative. Amounts are drawn in dollars.
  const heights = totals.map((pair) =>
    pair.map(({ count, total }) => Math.max(0, showsMoney ? total / 100 : count)),
  ) as [number, number][];
  const text = (value: number) => (showsMoney ? '$' : '') + shortCount(value);
  const { x, y, at, drawing } = timeAxes(steps, [0, Math.max(1, ...heights.flat())], text, view);
  const bars = heights.map(([now], index) =>
    svg('rect', { x: x(index)!, y: y(now), width: x.bandwidth(), height: BOTTOM - y(now) }),
  );
  const before = heights.map(([, value], index): [number, number] => [at(index), y(value)]);
  return {
    id: 'paid',
    question: 'How much was paid, compared with the previous period?',
    text: `Payments of each ${step} as bars, and of the ${step} at the same place of the previous period as a dashed line.`,
    height: HEIGHT,
    drawing: [
      drawing,
      svg('g', { class: 'bar' }, bars),
      svg('path', { class: 'before', d: line().digits(1)(before) ?? '' }),
      keyEntry(LEFT, 'bar', 'This period'),
      keyEntry(LEFT + 160, 'before', 'Previous period'),
    ],
    numbers: totals.map(([now, then], index) => [
      cell('time', 'Time', steps[index]!.time),
      cell('count', 'Payments', now.count),
      cell('count', 'Payments before', then.count),
      cell('money', 'Paid', now.total),
      cell('money', 'Paid before', then.total),
    ]),
  };
}

/** The success rate by step with its interval, over the usual range (null if it is unknown). */
export function successPlot(steps: Steps, usual: ShareInterval | null, view: PlotView): Plot {
  const points = steps.map(({ time, sales }, index) => {
    const outcomes = outcomesOf(sales);
    const { paid, failed } = outcomes;
    return { time, index, paid, failed, share: shareOfPaid(outcomes), ...wilsonInterval(paid, paid + failed) };
  });
  type Point = (typeof points)[number];
  const least = Math.min(0.95, usual?.low ?? 1, ...points.map(({ share }) => share ?? 1));
  const floor = Math.max(0, Math.floor((least - 0.02) * 20) / 20);
  const { y, at, drawing } = timeAxes(steps, [floor, 1], percentText, view);
  const level = (share: number) => y(Math.max(floor, share));
  const place = ({ index }: Point) => at(index);
  const isKnown = ({ share }: Point) => share !== null;
  const known = points.filter(isKnown);
  const bounds = [({ low }: Point) => level(low), ({ high }: Point) => level(high)] as const;
  const band = area<Point>(place, ...bounds)
    .defined(isKnown)
    .digits(1)(points);
  const rate = line<Point>(place, ({ share }) => level(share!))
    .defined(isKnown)
    .digits(1)(points);
  const marks = known.map((point) => svg('circle', { class: 'mark', cx: place(point), cy: level(point.share!), r: 3 }));
  const range = usual && `${percentText(usual.low)} to ${percentText(usual.high)}`;
  const box = usual && { x: LEFT, y: y(usual.high), width: RIGHT - LEFT, height: y(usual.low) - y(usual.high) };
  return {
    id: 'success',
    question: 'Is success as usual?',
    text: `Share of paid attempts of the attempts that ended in each ${view.step}, with its interval of 95 %; failures by buyers do not count. Usual range of a day, from the 10th to the 90th percentile of the four weeks before: ${range ?? 'unknown, because too few days had attempts'}.`,
    height: HEIGHT,
    drawing: [
      box && svg('rect', { class: 'usual', ...box }),
      drawing,
      svg('path', { class: 'band', d: band ?? '' }),
      svg('path', { class: 'rate', d: rate ?? '' }),
      marks,
      known.length === 0 && label(WIDTH / 2, HEIGHT / 2, 'No attempt has ended in this period.', 'middle'),
      keyEntry(LEFT, 'band', 'Success, 95 %'),
      usual && keyEntry(LEFT + 160, 'usual', `Usual: ${range}`),
    ],
    numbers: points.map(({ time, paid, failed, share, low, high }) => [
      cell('time', 'Time', time),
      cell('count', 'Paid', paid),
      cell('count', 'Failed', failed),
      cell('share', 'Success', share),
      cell('share', 'At least', share === null ? null : low),
      cell('share', 'At most', share === null ? null : high),
    ]),
  };
}
