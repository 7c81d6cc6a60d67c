import type { BenchWorld } from '../world/environment.ts';
import { type BenchRouter, simulate } from '../world/simulate.ts';
import { ARM_COLOURS, svgBar, svgDot, FAINT_COLOUR, svgLine, svgDocument, svgText } from './svg.ts';

const WIDTH = 900;
const LEFT = 46;
const LINES_TOP = 34;
const LINES_HEIGHT = 260;
const STRIP_TOP = LINES_TOP + LINES_HEIGHT + 34;
const STRIP_ROW = 14;
const BIN_SECONDS = 600;
const HOUR_SECONDS = 3600;
const LOWEST = 0.4;

interface Bin {
  /** Mean true success rate of each arm in this period. */
  rates: number[];
  /** Number of payments sent to each arm in this period. */
  chosen: number[];
  payments: number;
}

function binsOf(entry: BenchRouter, environment: BenchWorld): Bin[] {
  const { arms, requests, probability } = environment;
  const bins: Bin[] = [];
  const onChoice = (payment: number, arm: number): void => {
    const bin = (bins[Math.floor(requests[payment]!.at / BIN_SECONDS)] ??= {
      rates: Array.from({ length: arms }, () => 0),
      chosen: Array.from({ length: arms }, () => 0),
      payments: 0,
    });
    bin.payments += 1;
    bin.chosen[arm]! += 1;
    for (let each = 0; each < arms; each += 1) bin.rates[each]! += probability[payment * arms + each]!;
  };
  simulate(environment, entry, { onChoice });
  return bins.map((bin) => ({ ...bin, rates: bin.rates.map((total) => total / bin.payments) }));
}

/** SVG of one world over time: the true success rate of each route, and the choices of the router. */
export function runPlot(entry: BenchRouter, environment: BenchWorld): string {
  const bins = binsOf(entry, environment);
  const arms = bins[0]!.rates.length;
  const step = (WIDTH - LEFT - 10) / bins.length;
  const xOf = (bin: number): number => LEFT + (bin + 0.5) * step;
  const yOf = (rate: number): number =>
    LINES_TOP + LINES_HEIGHT * (1 - (Math.max(LOWEST, rate) - LOWEST) / (1 - LOWEST));
  const stripBottom = STRIP_TOP + arms * STRIP_ROW;

  const scale = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1].flatMap((rate) => [
    `<g stroke-opacity="0.25">${svgLine(
      [
        [LEFT, yOf(rate)],
        [WIDTH - 10, yOf(rate)],
      ],
      FAINT_COLOUR,
    )}</g>`,
    svgText(LEFT - 6, yOf(rate) + 4, `${Math.round(rate * 100)} %`, { anchor: 'end', size: 11 }),
  ]);
  const routes = Array.from({ length: arms }, (_, arm) =>
    svgLine(
      bins.map(({ rates }, bin) => [xOf(bin), yOf(rates[arm]!)] as const),
      ARM_COLOURS[arm]!,
    ),
  );
  const choices = bins.map(({ rates, chosen }, bin) => {
    const favourite = chosen.indexOf(Math.max(...chosen));
    return svgDot(xOf(bin), yOf(rates[favourite]!), 2.6, ARM_COLOURS[favourite]!);
  });
  const strip = bins.flatMap(({ chosen, payments }, bin) =>
    chosen.flatMap((count, arm) =>
      count === 0
        ? []
        : [
            svgBar(
              LEFT + bin * step,
              STRIP_TOP + arm * STRIP_ROW,
              step,
              STRIP_ROW - 3,
              ARM_COLOURS[arm]!,
              count / payments,
            ),
          ],
    ),
  );
  const hours = [0, 4, 8, 12, 16, 20, 24].filter((hour) => hour * HOUR_SECONDS < bins.length * BIN_SECONDS);
  const hourLabels = hours.map((hour) =>
    svgText(LEFT + ((hour * HOUR_SECONDS) / BIN_SECONDS) * step, stripBottom + 14, `${hour} h`, {
      anchor: 'middle',
      size: 11,
    }),
  );
  return svgDocument(
    WIDTH,
    stripBottom + 24,
    `${environment.scenario.name}, seed ${environment.seed}: true success rates of the routes, and the routes chosen`,
    [
      svgText(
        LEFT,
        18,
        'True success rate of each route (lines, below 40 % drawn at 40 %) and the route that received most payments (dots)',
        { size: 12 },
      ),
      ...scale,
      ...routes,
      ...choices,
      svgText(LEFT, STRIP_TOP - 8, 'Share of the payments that each route received, in periods of ten minutes', {
        size: 12,
      }),
      ...strip,
      ...hourLabels,
    ],
  );
}
