// SPDX-License-Identifier: GPL-2.0-only
/*
 * thesis-lan's download in ns-3: a wired server, an access point that routes, a
 * station 5 m away. 802.11n, 5 GHz, 40 MHz, MCS 5 on each of two streams, short
 * guard interval: 240 Mbit/s; A-MPDUs of 65535 octets and 5484 us, BlockAck
 * windows of 64 MPDUs, responses at 24 Mbit/s; no errors. TCP is CUBIC with SACK,
 * segments of 1448 octets, an ACK for two, and buffers as large as Linux's
 * limits; the station's queue at the access point is FQ-CoDel, as in mac80211.
 *
 *	ns3-download tcp|udp SECONDS
 *
 * Prints goodput_mbps: payload that the station's program received, divided by
 * the time of the transfer.
 */
#include <cstdlib>
#include <iostream>
#include <string>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/wifi-module.h"

using namespace ns3;

static const uint16_t PORT = 5201;
static const double LEAD_S = 1; /* the station associates */

static void SetDefaults()
{
	Config::SetDefault("ns3::TcpL4Protocol::SocketType",
			   TypeIdValue(TypeId::LookupByName("ns3::TcpCubic")));
	Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
	Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
	Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
	Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
	Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
	Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6 << 20));
	Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue("1000p"));
}

static NetDeviceContainer InstallWifi(Ptr<Node> ap, Ptr<Node> station)
{
	YansWifiChannelHelper channel = YansWifiChannelHelper::Default();
	YansWifiPhyHelper phy;
	WifiMacHelper mac;
	WifiHelper wifi;
	Ssid ssid("airtcp");
	NetDeviceContainer devices;

	phy.SetChannel(channel.Create());
	phy.Set("ChannelSettings", StringValue("{38, 40, BAND_5GHZ, 0}"));
	phy.Set("Antennas", UintegerValue(2));
	phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(2));
	phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(2));
	wifi.SetStandard(WIFI_STANDARD_80211n);
	wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode",
				     StringValue("HtMcs13"), "ControlMode",
				     StringValue("OfdmRate24Mbps"));
	mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid),
		    "BE_MaxAmpduSize", UintegerValue(65535));
	devices.Add(wifi.Install(phy, mac, station));
	mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid),
		    "BE_MaxAmpduSize", UintegerValue(65535));
	devices.Add(wifi.Install(phy, mac, ap));
	Config::Set("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/"
		    "HtConfiguration/ShortGuardIntervalSupported",
		    BooleanValue(true));
	return devices;
}

static void Place(Ptr<Node> ap, Ptr<Node> station)
{
	Ptr<ListPositionAllocator> places = CreateObject<ListPositionAllocator>();
	MobilityHelper mobility;

	places->Add(Vector(0, 0, 0));
	places->Add(Vector(5, 0, 0));
	mobility.SetPositionAllocator(places);
	mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
	mobility.Install(NodeContainer(ap, station));
}

static ApplicationContainer InstallSender(const std::string &protocol,
					  Ptr<Node> server, Address to)
{
	if (protocol == "tcp") {
		BulkSendHelper bulk("ns3::TcpSocketFactory", to);

		bulk.SetAttribute("MaxBytes", UintegerValue(0));
		bulk.SetAttribute("SendSize", UintegerValue(128 << 10));
		return bulk.Install(server);
	}
	OnOffHelper saturate("ns3::UdpSocketFactory", to);

	saturate.SetConstantRate(DataRate("240Mbps"), 1472);
	return saturate.Install(server);
}

int main(int argc, char **argv)
{
	std::string protocol = argc == 3 ? argv[1] : "";
	double seconds = argc == 3 ? std::atof(argv[2]) : 0;

	if ((protocol != "tcp" && protocol != "udp") || seconds <= 0) {
		std::cerr << "usage: ns3-download tcp|udp SECONDS\n";
		return 2;
	}
	SetDefaults();

	NodeContainer nodes(3);
	Ptr<Node> server = nodes.Get(0), ap = nodes.Get(1), station = nodes.Get(2);
	PointToPointHelper wire;

	wire.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
	wire.SetChannelAttribute("Delay", StringValue("1us"));
	NetDeviceContainer wired = wire.Install(server, ap);
	NetDeviceContainer wireless = InstallWifi(ap, station);

	Place(ap, station);
	InternetStackHelper().Install(nodes);

	Ipv4AddressHelper addresses;

	addresses.SetBase("10.0.1.0", "255.255.255.0");
	addresses.Assign(wired);
	addresses.SetBase("10.0.0.0", "255.255.255.0");
	Ipv4InterfaceContainer assigned = addresses.Assign(wireless);

	Ipv4GlobalRoutingHelper::PopulateRoutingTables();

	PacketSinkHelper sink(protocol == "tcp" ? "ns3::TcpSocketFactory" :
						  "ns3::UdpSocketFactory",
			      InetSocketAddress(Ipv4Address::GetAny(), PORT));
	ApplicationContainer receiver = sink.Install(station);
	ApplicationContainer sender = InstallSender(
		protocol, server,
		InetSocketAddress(assigned.GetAddress(0), PORT));

	sender.Start(Seconds(LEAD_S));
	sender.Stop(Seconds(LEAD_S + seconds));
	Simulator::Stop(Seconds(LEAD_S + seconds));
	Simulator::Run();

	double bytes = DynamicCast<PacketSink>(receiver.Get(0))->GetTotalRx();

	std::cout << "goodput_mbps " << bytes * 8 / seconds / 1e6 << "\n";
	Simulator::Destroy();
	return 0;
}
