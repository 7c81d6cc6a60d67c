import { scaleBand, scaleLinear } from 'd3-scale';
import { area, line } from 'd3-shape';
import { outcomesOf, shareOfPaid, totalOf } from '../../operations/sales-figures.ts';
import { type ShareInterval, wilsonInterval } from '../../domain/statistics.ts';
import type { Html } from '../../html/html.ts';
import type { Overview } from '../../operations/read-overview.ts';
import { countText, moneyText, percentText, shortCount, shortMoney } from '../components/figures.ts';
import { timeText } from '../components/time.ts';
import { type Plot, type PlotView, cell } from './plot-frame.ts';
import { WIDTH, label, svg } from './svg.ts';

const HEIGHT = 236;
const [TOP, BOTTOM, LEFT, RIGHT] = [30, HEIGHT - 28, 56, WIDTH - 8];
const MOST_LABELS = 6;

type Steps = Overview['steps'];
type Writer = (value: number) => string;

/** Axes with one band per step. `at` is the middle of a band. */
function timeAxes(steps: Steps, domain: [low: number, high: number], text: Writer, { zone, step }: PlotView) {
  const x = scaleBand<number>([...steps.keys()], [LEFT, RIGHT]).paddingInner(0.2);
  const y = scaleLinear(domain, [BOTTOM, TOP]).nice(4);
  const at = (index: number) => x(index)! + x.bandwidth() / 2;
  const nameOf: Writer = (time) => timeText(time, zone, step === 'hour' ? 'shortHour' : 'shortDay');
  const stride = Math.ceil(steps.length / MOST_LABELS);
  const levels = y.ticks(4).map((value) => {
    const line = { x1: LEFT, x2: RIGHT, y1: y(value), y2: y(value) };
    return [svg('line', { class: 'grid', ...line }), label(LEFT - 6, y(value) + 4, text(value), 'end')];
  });
  const times = steps.map(({ time }, index) => {
    const middle = Math.min(at(index), RIGHT - 26);
    return index % stride === 0 && label(middle, HEIGHT - 8, nameOf(time), 'middle');
  });
  return { x, y, at, drawing: [levels, times] };
}

/** An entry of the key above a drawing: a sample of the mark, and its meaning. */
function keyEntry(x: number, mark: 'rect' | 'line', kind: string, text: string): Html {
  const shape = mark === 'rect' ? { y: 4, width: 20, height: 12 } : { x2: 20, y1: 10, y2: 10 };
  return svg('g', { transform: `translate(${x} 0)` }, svg(mark, { class: kind, ...shape }), label(26, 15, text));
}

/** Bars by step, and the previous period as a line. */
export function paidPlot(steps: Steps, view: PlotView): Plot {
  const { zone, step, showsMoney } = view;
  const unit = showsMoney ? 'amount' : 'count';
  const [long, short] = showsMoney ? [moneyText, shortMoney] : [countText, shortCount];
  const totals = steps.map((each) => ({ now: totalOf(each.sales, 'paid'), before: totalOf(each.before, 'paid') }));
  // Corrections can make a sum negative.
  const heights = totals.map(({ now, before }) => [Math.max(0, now[unit]), Math.max(0, before[unit])] as const);
  const { x, y, at, drawing } = timeAxes(steps, [0, Math.max(1, ...heights.flat())], short, view);
  const bars = heights.map(([now], index) => {
    const title = `${timeText(steps[index]!.time, zone, step)}: ${long(totals[index]!.now[unit])}`;
    const box = { x: x(index)!, y: y(now), width: x.bandwidth(), height: BOTTOM - y(now) };
    return svg('rect', box, svg('title', {}, title));
  });
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
      keyEntry(LEFT, 'rect', 'bar', 'This period'),
      keyEntry(LEFT + 160, 'line', 'before', 'Previous period'),
    ],
    numbers: totals.map((total, index) => [
      cell('time', 'Time', steps[index]!.time),
      cell('count', 'Payments', total.now.count),
      cell('count', 'Payments before', total.before.count),
      cell('money', 'Paid', total.now.amount),
      cell('money', 'Paid before', total.before.amount),
    ]),
  };
}

/** The success rate by step with its interval, over the usual range (null if it is unknown). */
export function successPlot(steps: Steps, usual: ShareInterval | null, view: PlotView): Plot {
  const points = steps.map(({ time, sales }) => {
    const outcomes = outcomesOf(sales, view.countsAll);
    const { paid, failed } = outcomes;
    return { time, paid, failed, share: shareOfPaid(outcomes), ...wilsonInterval(paid, paid + failed) };
  });
  type Point = (typeof points)[number];
  const least = Math.min(0.95, usual?.low ?? 1, ...points.map(({ share }) => share ?? 1));
  const floor = Math.max(0, Math.floor((least - 0.02) * 20) / 20);
  const { y, at, drawing } = timeAxes(steps, [floor, 1], percentText, view);
  const level = (share: number) => y(Math.max(floor, share));
  const [place, isKnown] = [(_: Point, index: number) => at(index), ({ share }: Point) => share !== null];
  const [low, high] = [(point: Point) => level(point.low), (point: Point) => level(point.high)];
  const rate = ({ share }: Point) => level(share ?? floor);
  const band = area<Point>(place, low, high).defined(isKnown).digits(1)(points);
  const curve = line<Point>(place, rate).defined(isKnown).digits(1)(points);
  const marks = points.map((point, index) => {
    const title = svg('title', {}, `${timeText(point.time, view.zone, view.step)}: ${percentText(point.share ?? 0)}`);
    return isKnown(point) && svg('circle', { class: 'mark', cx: at(index), cy: rate(point), r: 3 }, title);
  });
  const range = usual && `${percentText(usual.low)} to ${percentText(usual.high)}`;
  const box = usual && { x: LEFT, y: y(usual.high), width: RIGHT - LEFT, height: y(usual.low) - y(usual.high) };
  return {
    id: 'success',
    question: 'Is success as usual?',
    text: `Share of paid attempts of the attempts that ended in each ${view.step}, with its interval of 95 %. Usual range of a day, from the 10th to the 90th percentile of the four weeks before: ${range ?? 'unknown, because too few days had attempts'}.`,
    height: HEIGHT,
    drawing: [
      box && svg('rect', { class: 'usual', ...box }),
      drawing,
      svg('path', { class: 'band', d: band ?? '' }),
      svg('path', { class: 'rate', d: curve ?? '' }),
      marks,
      !points.some(isKnown) && label(WIDTH / 2, HEIGHT / 2, 'No attempt has ended in this period.', 'middle'),
      keyEntry(LEFT, 'line', 'rate', 'Success'),
      keyEntry(LEFT + 110, 'rect', 'band', '95 %'),
      usual && keyEntry(LEFT + 190, 'rect', 'usual', `Usual: ${range}`),
    ],
    numbers: points.map((point) => [
      cell('time', 'Time', point.time),
      cell('count', 'Paid', point.paid),
      cell('count', 'Failed', point.failed),
      cell('share', 'Success', point.share),
      cell('share', 'At least', point.share && point.low),
      cell('share', 'At most', point.share && point.high),
    ]),
  };
}
