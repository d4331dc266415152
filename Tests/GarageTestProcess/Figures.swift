import Foundation
import GarageStorage

/// Measures what grows with the number of objects: parks so many, in batches, and looks for some of them.
func figures(_ count: Int) throws {
  let directory = FileManager.default.temporaryDirectory.appendingPathComponent("garage-figures-\(getpid())")
  defer { try? FileManager.default.removeItem(at: directory) }
  let garage = makeGarage(directory.path)
  let clock = ContinuousClock()
  func line(_ name: String, _ times: Int, _ body: () throws -> Void) rethrows {
    let each = try clock.measure(body) / times
    let microseconds = Double(each.components.attoseconds) / 1e12 + Double(each.components.seconds) * 1e6
    print(name.padding(toLength: 44, withPad: " ", startingAt: 0), String(format: "%10.2f µs", microseconds))
  }

  let text = String(repeating: "x", count: 100)
  try line("park, \(count) in batches of 1,000", count) {
    for start in stride(from: 0, to: count, by: 1_000) {
      try garage.parkAll(
        (start..<min(start + 1_000, count)).map { Item($0, text, $0 % 10_000 == 0 ? .syncing : .synced) })
    }
  }
  try line("park one, saved", 100) { for index in 0..<100 { try garage.park(Item(index, text, .synced)) } }
  for index in stride(from: 0, to: count, by: 10_000) { try garage.park(Item(index, text, .syncing)) }

  let decoder = JSONDecoder()
  let json = Data("{\"number\":12345,\"text\":\"\(text)\"}".utf8)
  try line("JSONDecoder alone, the same object", 20_000) {
    for _ in 0..<20_000 { _ = try decoder.decode(Item.self, from: json) }
  }
  var random = SystemRandomNumberGenerator()
  try line("retrieve by identifier, random", 20_000) {
    for _ in 0..<20_000 { _ = try garage.retrieve(Item.self, identifier: Int.random(in: 0..<count, using: &random)) }
  }
  try line("retrieve what is not there", 20_000) {
    for index in 0..<20_000 { _ = try garage.retrieve(Item.self, identifier: -1 - index) }
  }
  try line("sync status of one", 20_000) {
    for index in 0..<20_000 { _ = try garage.syncStatus(for: Item(index % count, "")) }
  }
  try line("query by status, \((count + 9_999) / 10_000) matches", 100) {
    for _ in 0..<100 { _ = try garage.retrieveAll(Item.self, withStatus: .syncing) }
  }
  try line("retrieve all, for each", count) { _ = try garage.retrieveAll(Item.self) }
}
