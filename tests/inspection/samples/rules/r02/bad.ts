import { WorkflowEntrypoint, WorkflowEvent, WorkflowStep } from "cloudflare:workers";
import Stripe from "stripe";

type Params = { orderId: string; customer: string; cents: number };

/** Takes the money of an order and opens its shipment. Started by the shop's API. */
export class OrderWorkflow extends WorkflowEntrypoint<Env, Params> {
  async run(event: WorkflowEvent<Params>, step: WorkflowStep) {
    const { customer, cents } = event.payload;
    const stripe = new Stripe(this.env.STRIPE_KEY);

    const address = await step.do("address", async () => {
      const row = await this.env.DB.prepare("select address from customers where id = ?").bind(customer).first();
      return row?.address as string;
    });

    const chargeId = await step.do("charge", async () => {
      const charge = await stripe.charges.create({ amount: cents, currency: "eur", customer });
      return charge.id;
    });

    console.log("charged", chargeId, "for", address.length);
  }
}
