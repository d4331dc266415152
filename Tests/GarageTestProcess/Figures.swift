import Foundation
import GarageStorage

/// Measures what grows with the number of objects: parks so many, in batches, and looks for some of them.
func figures(_ count: Int) throws {
  let directory = FileManager.default.temporaryDirectory.appendingPathComponent("garage-figures-\(getpid())")
  let garage = makeGarage(directory.path)
  let clock = ContinuousClock()
  @Sendable func line(_ name: String, _ times: Int, _ body: () throws -> Void) rethrows {
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
    for _ in 0..<20_000 {
      guard try garage.retrieve(Item.self, identifier: Int.random(in: 0..<count, using: &random)) != nil else {
        throw GarageError(.storageFailed, "An object is missing.")
      }
    }
  }
  try line("retrieve what is not there", 20_000) {
    for index in 0..<20_000 { _ = try garage.retrieve(Item.self, identifier: -1 - index) }
  }
  try line("sync status of one", 20_000) {
    for index in 0..<20_000 { _ = try garage.syncStatus(for: Item(index % count, "")) }
  }
  try line("query by status, \((count + 9_999) / 10_000) matches", 100) {
    for _ in 0..<100 {
      guard try garage.retrieveAll(Item.self, withStatus: .syncing).count == (count + 9_999) / 10_000 else {
        throw GarageError(.storageFailed, "A query has the wrong number of matches.")
      }
    }
  }
  try line("retrieve all, for each", count) { _ = try garage.retrieveAll(Item.self) }

  try FileManager.default.removeItem(at: directory)
  let thread = Thread {
    do {
      for count in [128, 10_000, 60_000] {
        try line("chain of \(count), parked and retrieved", count) { try chain(count) }
      }
    } catch {
      print("a chain: \(error)")
    }
    exit(0)
  }
  thread.stackSize = 512 << 10
  thread.start()
  Thread.sleep(forTimeInterval: 60)
}

final class Link: Mappable {
  var id: Int { number }
  var number = 0
  var next: Link?
}

/// Parks a chain of objects, and retrieves it from its first one.
private func chain(_ count: Int) throws {
  let garage = Garage(with: [.inMemory])
  let links = (0..<count).map { number in
    let link = Link()
    link.number = number
    return link
  }
  for index in links.indices.dropLast() { links[index].next = links[index + 1] }
  // Taken apart one by one: the language would take a level of the stack to release each.
  defer { for link in links { link.next = nil } }
  try garage.park(links[0])
  var length = 0
  var link = try garage.retrieve(Link.self, identifier: 0)
  while let present = link {
    length += 1
    link = present.next
    present.next = nil
  }
  guard length == count else { throw GarageError(.storageFailed, "A chain of \(count) came back as \(length).") }
}
