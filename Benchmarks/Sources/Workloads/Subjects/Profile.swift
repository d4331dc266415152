/// A typical structure of five fields.
struct Profile: Codable, Equatable, Sendable {
  var id: Int
  var name: String
  var score: Double
  var isActive: Bool
  var tags: [String]

  init(id: Int) {
    self.id = id
    name = "Person number \(id)"
    score = Double(id) * 1.5
    isActive = id % 2 == 0
    tags = ["first", "second"]
  }
}
