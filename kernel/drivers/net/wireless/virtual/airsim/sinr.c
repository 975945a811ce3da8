// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signal strength at a receiver, and its ratio to interference and noise.
 *
 * A radio with the setting capture and the error model snr receives the
 * stronger of overlapping signals, if it is strong enough:
 *
 * - It detects a preamble if its SINR is at least 4 dB. A PPDU whose SINR falls
 *   below that during its preamble is lost.
 * - During the training fields of the PPDU that it receives, it changes to
 *   another one whose preamble it detects, which was too weak to detect, or
 *   starts later. After them it does so only if the PPDU is lost.
 * - The SINR over time and the rate determine which MPDUs are lost.
 *
 * The thresholds are those of ns-3: ThresholdPreambleDetectionModel requires 4
 * dB, SimpleFrameCaptureModel has a window of 16 us. Interference counts in
 * full, whichever part of the channel it is in.
 */
#include <linux/jhash.h>
#include "airsim.h"

/* Loss between radios without positions and without a loss set. */
#define DEFAULT_LOSS_MDB	60000

#define PREAMBLE_SINR_MDB	4000
/* L-STF and L-LTF. */
#define CAPTURE_WINDOW_NS	16000

static s32 airsim_link_loss_mdb(const struct airsim_radio *radio,
				const struct airsim_radio *from, u64 now_ns)
{
	const struct airsim_settings *here = &radio->settings;
	const struct airsim_settings *there = &from->settings;
	void *given = xa_load((struct xarray *)&radio->losses_mdb, from->index);
	u32 distance_mm;

	if (given)
		return xa_to_value(given);
	if (!here->placed || !there->placed)
		return DEFAULT_LOSS_MDB;
	distance_mm = airsim_distance_mm(&here->position, &there->position,
					 now_ns);
	return airsim_path_loss_mdb(&airsim_medium.air.propagation,
				    distance_mm);
}

/* Fading is the same in both directions. */
static s32 airsim_link_gain_mdb(const struct airsim_radio *radio,
				const struct airsim_radio *from, u64 now_ns)
{
	const struct airsim_fading *fading = &airsim_medium.air.fading;
	u32 link;

	if (!fading->doppler_millihz)
		return 0;
	link = jhash_2words(min(radio->index, from->index),
			    max(radio->index, from->index),
			    airsim_medium.fading_seed);
	return airsim_fading_mdb(fading, link, now_ns);
}

/**
 * airsim_detects - whether a radio detects another one's signal
 * @radio: the radio; the medium is locked
 * @from: the transmitter; overlapping channels interfere
 * @now_ns: current time
 * @signal_mdbm: receives the signal strength
 */
bool airsim_detects(const struct airsim_radio *radio,
		    const struct airsim_radio *from, u64 now_ns,
		    s32 *signal_mdbm)
{
	s32 loss;

	if (radio->high_mhz <= from->low_mhz || from->high_mhz <= radio->low_mhz)
		return false;
	loss = airsim_link_loss_mdb(radio, from, now_ns);
	if (loss == AIRSIM_LINK_BLOCKED)
		return false;
	*signal_mdbm = from->settings.tx_power_mdbm - loss +
		       airsim_link_gain_mdb(radio, from, now_ns);
	return *signal_mdbm >= airsim_medium.air.cca_threshold_mdbm;
}

/**
 * airsim_signal_mdbm - strength of an emission that a radio receives
 * @radio: the radio; the medium is locked
 * @emission: the emission, received now or until now; of several HE TB PPDUs,
 *	each has its own strength
 */
s32 airsim_signal_mdbm(const struct airsim_radio *radio,
		       const struct airsim_emission *emission)
{
	s32 signal_mdbm = radio->reception.signal_mdbm;

	if (emission->frame == AIRSIM_PPDU && emission->trigger)
		airsim_detects(radio, emission->from, emission->start_ns,
			       &signal_mdbm);
	return signal_mdbm;
}

/* Signal-to-noise ratio of what a radio received last. */
static s32 airsim_snr_mdb(const struct airsim_radio *radio,
			  const struct airsim_emission *emission)
{
	return airsim_signal_mdbm(radio, emission) -
	       airsim_noise_mdbm(emission->rate.width_mhz);
}

/**
 * airsim_interferes - whether a radio detects another one besides what it wants
 * @radio: the radio; the medium is locked
 * @from: the other radio
 * @wanted: what @radio receives; others of its Trigger frame do not interfere
 * @ended: an emission that ends now, or NULL
 */
bool airsim_interferes(const struct airsim_radio *radio,
		       const struct airsim_radio *from,
		       const struct airsim_emission *wanted,
		       const struct airsim_emission *ended)
{
	const struct airsim_emission *emission = &from->emission;

	return from->emitting && emission != wanted &&
	       emission != ended && !airsim_in_parallel(emission, wanted) &&
	       test_bit(radio->index, emission->detected_by);
}

/* The other signals that a radio detects, except one that ends now. */
static u64 airsim_interference(const struct airsim_radio *radio,
			       const struct airsim_emission *wanted,
			       const struct airsim_emission *ended)
{
	const struct airsim_radio *from;
	s32 signal_mdbm;
	u64 sum = 0;

	list_for_each_entry(from, &airsim_medium.radios, list)
		if (airsim_interferes(radio, from, wanted, ended) &&
		    airsim_detects(radio, from, from->emission.start_ns,
				   &signal_mdbm))
			sum += airsim_power(signal_mdbm);
	return sum;
}

static s32 airsim_sinr_mdb(const struct airsim_radio *radio,
			   const struct airsim_emission *emission,
			   s32 signal_mdbm, const struct airsim_emission *ended)
{
	s32 noise_mdbm = airsim_noise_mdbm(emission->rate.width_mhz);
	u64 interference = airsim_interference(radio, emission, ended);

	if (interference)
		noise_mdbm = airsim_power_mdbm(interference +
					       airsim_power(noise_mdbm));
	return signal_mdbm - noise_mdbm;
}

static u64 airsim_data_start_ns(const struct airsim_emission *emission)
{
	return emission->start_ns + airsim_preamble_ns(&emission->rate);
}

/* If there are too many sections, the last one has the lowest SINR of them. */
static void airsim_add_section(struct airsim_reception *reception, u64 from_ns,
			       s32 sinr_mdb)
{
	struct airsim_section *last;

	if (reception->sections < AIRSIM_MAX_SECTIONS) {
		last = &reception->section[reception->sections++];
		last->from_ns = from_ns;
		last->sinr_mdb = sinr_mdb;
	} else {
		last = &reception->section[AIRSIM_MAX_SECTIONS - 1];
		last->sinr_mdb = min(last->sinr_mdb, sinr_mdb);
	}
}

/**
 * airsim_sinr_start - a radio starts to receive an emission
 * @radio: the radio; the medium is locked; the emission is the locked one, and
 *	not yet counted as audible
 */
void airsim_sinr_start(struct airsim_radio *radio)
{
	struct airsim_reception *reception = &radio->reception;
	const struct airsim_emission *emission = reception->locked;
	s32 sinr_mdb;

	reception->sections = 0;
	reception->undetected = false;
	reception->interfered = airsim_captures(radio) && reception->audible;
	if (!airsim_captures(radio))
		return;
	if (reception->interfered)
		sinr_mdb = airsim_sinr_mdb(radio, emission,
					   reception->signal_mdbm, NULL);
	else
		sinr_mdb = airsim_snr_mdb(radio, emission);
	airsim_add_section(reception, emission->start_ns, sinr_mdb);
}

/**
 * airsim_sinr_change - interference with what a radio receives has changed
 * @radio: the radio; the medium is locked
 * @now_ns: current time
 * @ended: an emission that ends now, or NULL
 */
void airsim_sinr_change(struct airsim_radio *radio, u64 now_ns,
			const struct airsim_emission *ended)
{
	struct airsim_reception *reception = &radio->reception;
	const struct airsim_emission *emission = reception->locked;
	s32 sinr_mdb = airsim_sinr_mdb(radio, emission, reception->signal_mdbm,
				       ended);

	reception->interfered = true;
	airsim_add_section(reception, now_ns, sinr_mdb);
	if (now_ns < airsim_data_start_ns(emission) &&
	    sinr_mdb < PREAMBLE_SINR_MDB)
		reception->undetected = true;
}

/**
 * airsim_is_captured - whether a radio starts to receive another emission
 * @radio: the radio, which detects other signals; the medium is locked
 * @emission: the other emission, which starts now
 * @signal_mdbm: its signal strength
 */
bool airsim_is_captured(const struct airsim_radio *radio,
			const struct airsim_emission *emission,
			s32 signal_mdbm)
{
	const struct airsim_reception *reception = &radio->reception;
	const struct airsim_emission *locked = reception->locked;

	if (radio->emitting ||
	    radio->frequency_mhz != emission->from->frequency_mhz)
		return false;
	if (locked && !reception->undetected &&
	    emission->start_ns >= locked->start_ns + CAPTURE_WINDOW_NS)
		return false;
	return airsim_sinr_mdb(radio, emission, signal_mdbm, NULL) >=
	       PREAMBLE_SINR_MDB;
}

/*
 * The sections of a reception. They have the SINR of the emission with which it
 * started; other HE TB PPDUs have the same interference, but another strength.
 */
static void airsim_copy_sections(const struct airsim_radio *radio,
				 const struct airsim_emission *emission,
				 struct airsim_section *section)
{
	const struct airsim_reception *reception = &radio->reception;
	s32 excess_mdb = airsim_signal_mdbm(radio, emission) -
			 reception->signal_mdbm;
	int i;

	for (i = 0; i < reception->sections; i++) {
		section[i] = reception->section[i];
		section[i].sinr_mdb += excess_mdb;
	}
}

/**
 * airsim_sinr_lost - draw whether noise or interference destroys a frame
 * @radio: receiver; the medium is locked
 * @emission: the emission that it is in, received now or until now
 * @from_ns: start of the frame, or of the emission
 * @to_ns: end of the frame
 * @octets: its length
 */
bool airsim_sinr_lost(const struct airsim_radio *radio,
		      const struct airsim_emission *emission, u64 from_ns,
		      u64 to_ns, u32 octets)
{
	const struct airsim_reception *reception = &radio->reception;
	const struct airsim_rate *rate = &emission->rate;
	struct airsim_section section[AIRSIM_MAX_SECTIONS];
	struct rnd_state *rnd = &airsim_medium.error_rnd;
	u64 data_ns;

	if (!reception->interfered)
		return airsim_snr_lost(rate, airsim_snr_mdb(radio, emission),
				       octets, rnd);
	data_ns = airsim_data_start_ns(emission);
	airsim_copy_sections(radio, emission, section);
	return prandom_u32_state(rnd) <
	       airsim_sinr_loss(rate, section, reception->sections,
				max(from_ns, data_ns), to_ns, octets);
}

/**
 * airsim_sinr_readable - whether a radio can decode a short frame
 * @radio: the radio, which has received @emission; the medium is locked
 * @emission: the emission
 * @octets: length of the frame, at its rate
 *
 * Return: whether it is more likely to arrive than not.
 */
bool airsim_sinr_readable(const struct airsim_radio *radio,
			  const struct airsim_emission *emission, u32 octets)
{
	const struct airsim_reception *reception = &radio->reception;
	const struct airsim_rate *rate = &emission->rate;

	if (reception->interfered)
		return airsim_sinr_loss(rate, reception->section,
					reception->sections,
					airsim_data_start_ns(emission),
					emission->end_ns, octets) <=
		       U32_MAX / 2;
	return airsim_snr_loss(rate, airsim_snr_mdb(radio, emission), octets) <=
	       U32_MAX / 2;
}
