#if !canImport(Darwin)
  import Foundation

  extension FoundationDecoding {
    static let measures: [FoundationDecoding] =
      [
        make(NSMeasurement.self) { reader in
          let value = reader.number(forKey: "NS.value")
          return reader.object(Unit.self, forKey: "NS.unit").map { NSMeasurement(doubleValue: value, unit: $0) }
        },
        make(Unit.self) { reader in reader.string(forKey: "NS.symbol").map { Unit(symbol: $0) } },
        make(UnitConverterLinear.self) { reader in
          guard reader.containsValue(forKey: "NS.coefficient") else { return nil }
          return UnitConverterLinear(
            coefficient: reader.number(forKey: "NS.coefficient"), constant: reader.number(forKey: "NS.constant"))
        },
        dimension(Dimension.self), dimension(UnitAcceleration.self), dimension(UnitAngle.self),
        dimension(UnitArea.self), dimension(UnitConcentrationMass.self), dimension(UnitDispersion.self),
        dimension(UnitDuration.self), dimension(UnitElectricCharge.self), dimension(UnitElectricCurrent.self),
        dimension(UnitElectricPotentialDifference.self), dimension(UnitElectricResistance.self),
        dimension(UnitEnergy.self), dimension(UnitFrequency.self), dimension(UnitIlluminance.self),
        dimension(UnitInformationStorage.self), dimension(UnitLength.self), dimension(UnitMass.self),
        dimension(UnitPower.self), dimension(UnitPressure.self), dimension(UnitSpeed.self),
        dimension(UnitTemperature.self), dimension(UnitVolume.self),
      ]

    private static func dimension<Kind: Dimension>(_ type: Kind.Type) -> FoundationDecoding {
      make(type) { reader in
        guard let symbol = reader.string(forKey: "NS.symbol") else { return nil }
        return reader.object(UnitConverterLinear.self, forKey: "NS.converter").map {
          type.init(symbol: symbol, converter: $0)
        }
      }
    }
  }
#endif
