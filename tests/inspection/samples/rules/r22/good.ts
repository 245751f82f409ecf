import { WorkflowEntrypoint, WorkflowEvent, WorkflowStep } from "cloudflare:workers";
import Stripe from "stripe";

type Params = { bookingId: string; guest: string; cents: number };

export class Booking extends WorkflowEntrypoint<Env, Params> {
  async run(event: WorkflowEvent<Params>, step: WorkflowStep) {
    const { bookingId, guest, cents } = event.payload;
    const stripe = new Stripe(this.env.STRIPE_KEY);

    await step.do(
      "deposit",
      { retries: { limit: 3, delay: "5 seconds" }, timeout: "1 minute" },
      async () => {
        const charge = await stripe.charges.create(
          { amount: cents, currency: "eur", customer: guest, metadata: { booking: bookingId } },
          { idempotencyKey: `deposit-${bookingId}` },
        );
        return { id: charge.id };
      },
      {
        rollback: async ({ output }) => {
          const found = await stripe.charges.search({ query: `metadata['booking']:'${bookingId}'` });
          const id = output?.id ?? found.data[0]?.id;
          if (!id) return; // nothing was taken
          await stripe.refunds.create({ charge: id }, { idempotencyKey: `refund-${bookingId}` });
        },
        rollbackConfig: { retries: { limit: 5, delay: "30 seconds" } },
      },
    );

    // The hotel's own system is slow on Mondays.
    await step.do("room", { retries: { limit: 3, delay: "1 minute" }, timeout: "5 minutes" }, async () => {
      const answer = await fetch(`https://rooms.acme.example/bookings/${bookingId}`, { method: "PUT" });
      if (!answer.ok) throw new Error(`no room: ${answer.status}`);
    });
  }
}
