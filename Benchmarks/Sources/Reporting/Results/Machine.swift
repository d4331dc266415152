import Foundation

/// The machine and the versions behind the figures.
public struct Machine: Encodable, CustomStringConvertible, Sendable {
  public var processor: String
  public var processors: Int
  public var memoryGigabytes: Int
  public var system: String
  public var libraries: [String: String]
  public var swift: String

  public static func current(libraries: [String: String]) -> Machine {
    Machine(
      processor: processorName, processors: ProcessInfo.processInfo.processorCount,
      memoryGigabytes: Int((Double(ProcessInfo.processInfo.physicalMemory) / 1e9).rounded()), system: systemName,
      libraries: libraries, swift: swiftVersion)
  }

  public var description: String {
    "\(processors) × \(processor), \(memoryGigabytes) GB, \(system), Swift \(swift); "
      + libraries.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
  }

  private static var processorName: String {
    let lines = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.split(separator: "\n") ?? []
    let name = lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last
    return name.map { $0.trimmingCharacters(in: .whitespaces) } ?? "processor"
  }

  private static var systemName: String {
    let lines = (try? String(contentsOfFile: "/etc/os-release", encoding: .utf8))?.split(separator: "\n") ?? []
    let name = lines.first { $0.hasPrefix("PRETTY_NAME=") }?.dropFirst("PRETTY_NAME=".count)
    return name?.trimmingCharacters(in: CharacterSet(charactersIn: "\""))
      ?? ProcessInfo.processInfo.operatingSystemVersionString
  }

  private static var swiftVersion: String {
    #if swift(>=6.4)
      "6.4 or newer"
    #elseif swift(>=6.3)
      "6.3"
    #else
      "6.2"
    #endif
  }
}
