// Time: a slider over the times of a temporal embedding, and a button that plays them.

class TimeBar {
  constructor(app) {
    this.app = app;
    if (!app.data.times) return;
    byId("timebar").hidden = false;
    this.slider = byId("time");
    this.slider.max = app.data.times.values.length - 1;
    this.slider.addEventListener("input", () => app.update({ time: Number(this.slider.value) }));
    byId("all-times").addEventListener("click", () => {
      this.stop();
      app.update({ time: -1 });
    });
    byId("play").addEventListener("click", () => (this.timer ? this.stop() : this.play()));
    app.listeners.push((touched, first) => {
      if (first || touched.has("time")) this.show();
    });
  }

  show() {
    const { values } = this.app.data.times;
    const { time } = this.app.state;
    const text = time < 0 ? "all times" : `time ${this.moment(values[time])}`;
    byId("time-text").textContent = text;
    this.slider.value = Math.max(time, 0);
    this.slider.setAttribute("aria-valuetext", text);
    byId("all-times").setAttribute("aria-pressed", String(time < 0));
    byId("timebar").classList.toggle("all", time < 0);
  }

  // Return a time as text: dates come as texts.
  moment(value) {
    return typeof value === "string" ? value.replace("T", " ") : formatNumber(value);
  }

  play() {
    const { app } = this;
    const last = app.data.times.values.length - 1;
    if (app.state.time >= last) app.update({ time: -1 });
    byId("play").setAttribute("aria-pressed", "true");
    this.timer = setInterval(() => {
      if (app.state.time >= last) this.stop();
      else app.update({ time: app.state.time + 1 });
    }, 500);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    byId("play").setAttribute("aria-pressed", "false");
  }
}
