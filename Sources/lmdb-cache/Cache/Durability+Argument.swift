public import ArgumentParser
public import LMDBCaching

extension Durability: ExpressibleByArgument {
  public init?(argument: String) {
    guard let durability = Self.allCases.first(where: { "\($0)" == argument }) else { return nil }
    self = durability
  }

  public var defaultValueDescription: String { "\(self)" }

  public static var allValueDescriptions: [String: String] {
    [
      "ordered": "a power cut loses at most the writes of the last moment",
      "full": "every write waits until it is on the disk",
      "fast": "a crash of the operating system loses the whole cache",
    ]
  }

  public static var allValueStrings: [String] { allCases.map { "\($0)" } }
}
