// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scenarios in ns-3: a wired server, an access point that routes, stations of
 * one Wi-Fi network, and a flow per station, TCP or saturating UDP.
 *
 *	ns3-scenario [--OPTION=VALUE]...
 *
 * --help lists the options. Without any it is thesis-lan's download: a station 5
 * m away; 802.11n, 5 GHz, 40 MHz, MCS 5 on each of two streams, short guard
 * interval: 240 Mbit/s; A-MPDUs of 65535 octets and 5484 us, BlockAck windows of
 * 64 MPDUs, responses at 24 Mbit/s; no errors. TCP is CUBIC with SACK, segments
 * of 1448 octets, an ACK for two, and buffers as large as Linux's limits; the
 * queues of each radio are FQ-CoDel, as in mac80211.
 *
 * Prints values measured from warmup_s after the start of the flows to their
 * end: goodput_mbps, payload that the receiving programs got; goodput_min_mbps
 * and goodput_max_mbps, of one station; goodput_first_mbps, of the first one;
 * PPDUs with data and their MPDUs; MPDUs dropped.
 */
#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

using namespace ns3;

static const uint16_t PORT = 5201;
static const double LEAD_S = 1; /* the stations associate */
static const uint32_t NEVER = 4692480; /* longer than any PSDU */

struct Options {
	std::string standard = "802.11n";
	std::string mode = "HtMcs13";
	std::string legacy_mode = "OfdmRate54Mbps"; /* of the first stations, which are 802.11a */
	std::string control_mode = "OfdmRate24Mbps";
	std::string place = "point";
	std::string direction = "download";
	std::string protocol = "tcp";
	std::string queue = "fq_codel";
	uint32_t width_mhz = 40;
	uint32_t streams = 2;
	uint32_t gi_ns = 400;
	uint32_t ampdu_octets = 65535;
	uint32_t ba_window = 64;
	uint32_t rts_octets = NEVER;
	uint32_t queue_packets = 1000;
	uint32_t ap_cw_max = 1023;
	uint32_t stations = 1;
	uint32_t legacy_stations = 0;
	uint32_t ack_count = 2;
	uint32_t send_buffer = 4 << 20;
	uint32_t receive_buffer = 6 << 20;
	double distance_m = 5;
	double near_m = 0; /* of the first station; 0: as the others */
	double udp_mbps = 240;
	double delay_ms = 0.001;
	double ack_delay_ms = 200;
	double lifetime_s = 0.5;
	double warmup_s = 0;
	double seconds = 10;
	uint32_t seed = 1;
	bool preamble_detection = true;
	bool capture = false;
	bool hystart = true;
	std::string tcp = "ns3::TcpCubic";
};

struct Counters {
	uint64_t ppdus = 0;
	uint64_t mpdus = 0;
	uint64_t dropped = 0;
};

static Counters counters;

static bool Parse(Options &o, int argc, char **argv)
{
	CommandLine line;

	line.AddValue("standard", "802.11a, n, ac or ax", o.standard);
	line.AddValue("mode", "rate of data: ns-3's name", o.mode);
	line.AddValue("legacy_mode", "rate of 802.11a stations", o.legacy_mode);
	line.AddValue("legacy_stations", "first stations that are 802.11a",
		      o.legacy_stations);
	line.AddValue("control_mode", "rate of RTS", o.control_mode);
	line.AddValue("place", "stations at one point or on a ring", o.place);
	line.AddValue("direction", "download or upload", o.direction);
	line.AddValue("protocol", "tcp or udp", o.protocol);
	line.AddValue("queue",
		      "fq_codel; fair: it without CoDel; fifo: no discipline",
		      o.queue);
	line.AddValue("width_mhz", "channel width", o.width_mhz);
	line.AddValue("streams", "spatial streams", o.streams);
	line.AddValue("gi_ns", "guard interval", o.gi_ns);
	line.AddValue("ampdu_octets", "limit of an A-MPDU", o.ampdu_octets);
	line.AddValue("ba_window", "802.11ax: limit of MPDUs", o.ba_window);
	line.AddValue("rts_octets", "RTS above, except for 802.11a stations", o.rts_octets);
	line.AddValue("queue_packets", "limit of a radio's queue",
		      o.queue_packets);
	line.AddValue("ap_cw_max", "best effort, access point", o.ap_cw_max);
	line.AddValue("stations", "number of stations", o.stations);
	line.AddValue("ack_count", "TCP segments per ACK", o.ack_count);
	line.AddValue("ack_delay_ms", "how long an ACK may wait",
		      o.ack_delay_ms);
	line.AddValue("send_buffer", "TCP, octets", o.send_buffer);
	line.AddValue("receive_buffer", "TCP, octets", o.receive_buffer);
	line.AddValue("distance_m", "from the access point", o.distance_m);
	line.AddValue("near_m", "the same of the first station; 0: equal",
		      o.near_m);
	line.AddValue("udp_mbps", "of each station", o.udp_mbps);
	line.AddValue("delay_ms", "of the wire", o.delay_ms);
	line.AddValue("lifetime_s", "of an MSDU in a radio's queue",
		      o.lifetime_s);
	line.AddValue("warmup_s", "before the measurement", o.warmup_s);
	line.AddValue("seconds", "of the measurement", o.seconds);
	line.AddValue("seed", "run of ns-3's generator", o.seed);
	line.AddValue("preamble_detection",
		      "false: lock on the first frame at any SNR",
		      o.preamble_detection);
	line.AddValue("capture",
		      "frame capture, errors by NIST's model, and 20 dBm",
		      o.capture);
	line.AddValue("tcp", "congestion control: ns-3's name", o.tcp);
	line.AddValue("hystart", "CUBIC's HyStart", o.hystart);
	line.Parse(argc, argv);
	return (o.protocol == "tcp" || o.protocol == "udp") &&
	       (o.direction == "download" || o.direction == "upload") &&
	       (o.place == "point" || o.place == "ring") &&
	       (o.queue == "fq_codel" || o.queue == "fair" ||
		o.queue == "fifo") &&
	       o.stations >= 1 && o.legacy_stations <= o.stations &&
	       o.seconds > 0 && o.warmup_s >= 0;
}

static void SetDefaults(const Options &o)
{
	QueueSize packets(QueueSizeUnit::PACKETS, o.queue_packets);

	RngSeedManager::SetRun(o.seed);
	Config::SetDefault("ns3::TcpL4Protocol::SocketType",
			   TypeIdValue(TypeId::LookupByName(o.tcp)));
	Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(o.hystart));
	Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
	Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
	Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
	Config::SetDefault("ns3::TcpSocket::DelAckCount",
			   UintegerValue(o.ack_count));
	Config::SetDefault("ns3::TcpSocket::DelAckTimeout",
			   TimeValue(MicroSeconds(o.ack_delay_ms * 1000)));
	Config::SetDefault("ns3::TcpSocket::SndBufSize",
			   UintegerValue(o.send_buffer));
	Config::SetDefault("ns3::TcpSocket::RcvBufSize",
			   UintegerValue(o.receive_buffer));
	Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(packets));
	Config::SetDefault("ns3::WifiMacQueue::MaxDelay",
			   TimeValue(Seconds(o.lifetime_s)));
	if (o.queue == "fair") {
		const std::string fq_codel = "ns3::FqCoDelQueueDisc::";

		Config::SetDefault(fq_codel + "MaxSize",
				   StringValue("1000000p"));
		Config::SetDefault(fq_codel + "Target", StringValue("100s"));
		Config::SetDefault(fq_codel + "Interval", StringValue("100s"));
	}
	Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold",
			   UintegerValue(NEVER));
}

static WifiStandard Standard(const std::string &name)
{
	if (name == "802.11a")
		return WIFI_STANDARD_80211a;
	if (name == "802.11n")
		return WIFI_STANDARD_80211n;
	if (name == "802.11ac")
		return WIFI_STANDARD_80211ac;
	if (name == "802.11ax")
		return WIFI_STANDARD_80211ax;
	NS_FATAL_ERROR("no standard " << name);
}

/* The channel that has 36 as its primary channel. */
static std::string ChannelFrom36(uint32_t width_mhz)
{
	uint32_t number = 36 + (width_mhz / 20 - 1) * 2;

	return "{" + std::to_string(number) + ", " + std::to_string(width_mhz) +
	       ", BAND_5GHZ, 0}";
}

static void SetGuardInterval(const Options &o)
{
	const std::string devices = "/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/";

	if (o.standard == "802.11ax") {
		Config::Set(devices + "HeConfiguration/GuardInterval",
			    TimeValue(NanoSeconds(o.gi_ns)));
		Config::Set(devices + "HeConfiguration/MpduBufferSize",
			    UintegerValue(o.ba_window));
	} else if (o.standard != "802.11a") {
		Config::Set(devices +
			    "HtConfiguration/ShortGuardIntervalSupported",
			    BooleanValue(o.gi_ns == 400));
	}
}

/* Devices of the access point, then of the stations. */
static NetDeviceContainer InstallWifi(const Options &o, Ptr<Node> ap,
				      NodeContainer stations)
{
	YansWifiChannelHelper channel = YansWifiChannelHelper::Default();
	UintegerValue octets(o.ampdu_octets), streams(o.streams);
	YansWifiPhyHelper phy, legacy_phy;
	WifiHelper wifi, legacy;
	Ssid ssid("airtcp");
	NetDeviceContainer devices;
	WifiMacHelper mac;
	Time beacons = MicroSeconds(1024) * 1000;

	phy.SetChannel(channel.Create());
	if (!o.preamble_detection)
		phy.DisablePreambleDetectionModel();
	if (o.capture) {
		phy.SetErrorRateModel("ns3::NistErrorRateModel");
		phy.SetFrameCaptureModel("ns3::SimpleFrameCaptureModel");
		phy.Set("TxPowerStart", DoubleValue(20));
		phy.Set("TxPowerEnd", DoubleValue(20));
	}
	legacy_phy = phy;
	legacy_phy.Set("ChannelSettings", StringValue(ChannelFrom36(20)));
	legacy.SetStandard(WIFI_STANDARD_80211a);
	legacy.SetRemoteStationManager("ns3::ConstantRateWifiManager",
				       "DataMode", StringValue(o.legacy_mode),
				       "ControlMode",
				       StringValue(o.control_mode));
	phy.Set("ChannelSettings", StringValue(ChannelFrom36(o.width_mhz)));
	phy.Set("Antennas", streams);
	phy.Set("MaxSupportedTxSpatialStreams", streams);
	phy.Set("MaxSupportedRxSpatialStreams", streams);
	wifi.SetStandard(Standard(o.standard));
	wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode",
				     StringValue(o.mode), "ControlMode",
				     StringValue(o.control_mode),
				     "RtsCtsThreshold",
				     UintegerValue(o.rts_octets));
	mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid), "QosSupported",
		    BooleanValue(true), "BE_MaxAmpduSize", octets,
		    "BeaconInterval", TimeValue(beacons), "EnableBeaconJitter",
		    BooleanValue(false));
	devices.Add(wifi.Install(phy, mac, ap));
	mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "QosSupported",
		    BooleanValue(true), "BE_MaxAmpduSize", octets);
	for (uint32_t i = 0; i < stations.GetN(); i++)
		devices.Add(i < o.legacy_stations ?
				    legacy.Install(legacy_phy, mac,
						   stations.Get(i)) :
				    wifi.Install(phy, mac, stations.Get(i)));
	SetGuardInterval(o);
	DynamicCast<WifiNetDevice>(devices.Get(0))
		->GetMac()->GetQosTxop(AC_BE)->SetMaxCw(o.ap_cw_max);
	return devices;
}

static void Place(const Options &o, Ptr<Node> ap, NodeContainer stations)
{
	Ptr<ListPositionAllocator> places = CreateObject<ListPositionAllocator>();
	MobilityHelper mobility;

	places->Add(Vector(0, 0, 0));
	for (uint32_t i = 0; i < o.stations; i++) {
		double turn = o.place == "ring" ? 2 * M_PI * i / o.stations : 0;
		double away_m = i == 0 && o.near_m ? o.near_m : o.distance_m;

		places->Add(Vector(away_m * std::cos(turn),
				   away_m * std::sin(turn), 0));
	}
	mobility.SetPositionAllocator(places);
	mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
	mobility.Install(ap);
	mobility.Install(stations);
}

static ApplicationContainer InstallSender(const Options &o, Ptr<Node> node,
					  Address to)
{
	if (o.protocol == "tcp") {
		BulkSendHelper bulk("ns3::TcpSocketFactory", to);

		bulk.SetAttribute("MaxBytes", UintegerValue(0));
		bulk.SetAttribute("SendSize", UintegerValue(128 << 10));
		return bulk.Install(node);
	}
	OnOffHelper saturate("ns3::UdpSocketFactory", to);

	saturate.SetConstantRate(DataRate(o.udp_mbps * 1e6), 1472);
	return saturate.Install(node);
}

static void CountPpdu(WifiConstPsduMap psdus, WifiTxVector, double)
{
	Ptr<const WifiPsdu> psdu = psdus.begin()->second;

	if (!psdu->GetHeader(0).IsData() || !psdu->GetHeader(0).HasData())
		return;
	counters.ppdus++;
	counters.mpdus += psdu->GetNMpdus();
}

static void CountDrop(WifiMacDropReason, Ptr<const WifiMpdu>)
{
	counters.dropped++;
}

static void CountFrames(NetDeviceContainer devices)
{
	for (uint32_t i = 0; i < devices.GetN(); i++) {
		Ptr<WifiNetDevice> device =
			DynamicCast<WifiNetDevice>(devices.Get(i));
		Ptr<WifiMac> mac = device->GetMac();

		device->GetPhy()->TraceConnectWithoutContext(
			"PhyTxPsduBegin", MakeCallback(&CountPpdu));
		mac->TraceConnectWithoutContext("DroppedMpdu",
						MakeCallback(&CountDrop));
	}
}

static std::vector<uint64_t> Received(const ApplicationContainer &sinks)
{
	std::vector<uint64_t> bytes;

	for (uint32_t i = 0; i < sinks.GetN(); i++)
		bytes.push_back(
			DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx());
	return bytes;
}

static void Report(const Options &o, const std::vector<uint64_t> &before,
		   const ApplicationContainer &sinks)
{
	std::vector<uint64_t> after = Received(sinks);
	std::vector<double> mbps;
	double sum = 0;

	for (size_t i = 0; i < after.size(); i++) {
		mbps.push_back((after[i] - before[i]) * 8 / o.seconds / 1e6);
		sum += mbps.back();
	}
	std::cout << "goodput_mbps " << sum << "\n"
		  << "goodput_min_mbps "
		  << *std::min_element(mbps.begin(), mbps.end()) << "\n"
		  << "goodput_max_mbps "
		  << *std::max_element(mbps.begin(), mbps.end()) << "\n"
		  << "goodput_first_mbps " << mbps[0] << "\n"
		  << "ppdus " << counters.ppdus << "\n"
		  << "mpdus " << counters.mpdus << "\n"
		  << "dropped " << counters.dropped << "\n";
}

int main(int argc, char **argv)
{
	Options o;

	if (!Parse(o, argc, argv)) {
		std::cerr << "ns3-scenario: a value is not allowed: --help\n";
		return 2;
	}
	SetDefaults(o);

	NodeContainer nodes(2), stations(o.stations);
	Ptr<Node> server = nodes.Get(0), ap = nodes.Get(1);
	PointToPointHelper wire;

	wire.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
	wire.SetChannelAttribute("Delay", TimeValue(MicroSeconds(
						 o.delay_ms * 1000)));
	wire.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
	NetDeviceContainer wired = wire.Install(server, ap);
	NetDeviceContainer wireless = InstallWifi(o, ap, stations);

	Place(o, ap, stations);
	InternetStackHelper stack;

	stack.Install(nodes);
	stack.Install(stations);

	Ipv4AddressHelper addresses;

	addresses.SetBase("10.0.1.0", "255.255.255.0");
	Ipv4InterfaceContainer cable = addresses.Assign(wired);

	addresses.SetBase("10.0.0.0", "255.255.255.0");
	Ipv4InterfaceContainer air = addresses.Assign(wireless);

	if (o.queue == "fifo") {
		TrafficControlHelper none;

		none.Uninstall(wired);
		none.Uninstall(wireless);
	}
	Ipv4GlobalRoutingHelper::PopulateRoutingTables();
	/*
	 * No ARP: the access point would reply at the data rate, which 802.11a
	 * stations cannot receive. Stations have a link once associated.
	 */
	Simulator::Schedule(Seconds(LEAD_S / 2), [] {
		NeighborCacheHelper().PopulateNeighborCache();
	});

	ApplicationContainer sinks;
	std::string factory = o.protocol == "tcp" ? "ns3::TcpSocketFactory" :
						    "ns3::UdpSocketFactory";

	for (uint32_t i = 0; i < o.stations; i++) {
		bool down = o.direction == "download";
		uint16_t port = PORT + i;
		PacketSinkHelper sink(
			factory, InetSocketAddress(Ipv4Address::GetAny(), port));
		Ipv4Address to = down ? air.GetAddress(i + 1) :
					cable.GetAddress(0);
		Ptr<Node> station = stations.Get(i);
		ApplicationContainer sender =
			InstallSender(o, down ? server : station,
				      InetSocketAddress(to, port));

		sinks.Add(sink.Install(down ? station : server));
		sender.Start(Seconds(LEAD_S) + MilliSeconds(i));
	}

	Simulator::Stop(Seconds(LEAD_S + o.warmup_s));
	Simulator::Run();
	std::vector<uint64_t> before = Received(sinks);

	CountFrames(wireless);
	Simulator::Stop(Seconds(o.seconds));
	Simulator::Run();
	Report(o, before, sinks);
	Simulator::Destroy();
	return 0;
}
